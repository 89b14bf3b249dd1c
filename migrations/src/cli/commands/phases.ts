import type { Option } from 'commander';
import type { PhaseNumber } from '../../engine/Step';
import { phases } from '../../phases';
import type { CommandDefinition } from '../CommandDefinition';
import {
  allowMissingOption,
  backupCompletedOption,
  forceOption,
  freeDiskOption,
  noAdminGrantOption,
  tenantNameOption,
} from '../options/specific';
import { guidance } from './guidance';
import { runPhase } from './runPhase';

const OPTIONS: Partial<Record<PhaseNumber, Option[]>> = {
  1: [backupCompletedOption, allowMissingOption, freeDiskOption],
  2: [tenantNameOption],
  4: [
    noAdminGrantOption,
    forceOption('go on although an old application is still connected'),
  ],
};

/** The commands of the phases that consist of steps. */
export const phaseCommands: CommandDefinition[] = phases
  .filter(({ number }) => number < 6)
  .map(({ number, steps }) => ({
    name: `phase${number}`,
    description: guidance[number].description,
    details: [
      `It takes ${guidance[number].expectation}. Its steps:`,
      ...steps.map(({ title }) => `  - ${title}`),
      'A command that was stopped goes on where it was when it is run again.',
    ].join('\n'),
    access: 'change',
    options: OPTIONS[number] ?? [],
    run: invocation => runPhase(invocation, number),
  }));
