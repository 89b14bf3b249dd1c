import type { CommandDefinition } from '../CommandDefinition';
import { adopt } from './adopt';
import { all } from './all';
import { cleanup } from './cleanup';
import { partition, unpartition } from './partition';
import { phaseCommands } from './phases';
import { preflight } from './preflight';
import { rollback } from './rollback';
import { status } from './status';
import { unadopt } from './unadopt';
import { verify } from './verify';

/** The commands, in the order of the help. */
export const commands: CommandDefinition[] = [
  preflight,
  ...phaseCommands,
  all,
  status,
  verify,
  rollback,
  cleanup,
  partition,
  unpartition,
  adopt,
  unadopt,
];
