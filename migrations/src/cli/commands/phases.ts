import type { Option } from 'commander';
import type { PhaseNumber } from '../../engine/Step';
import { phases } from '../../phases';
import { refuseWithoutTables } from '../../status';
import type { CommandDefinition } from '../CommandDefinition';
import {
  baseUrlOption,
  forceOption,
  freeDiskOption,
  noAdminGrantOption,
  preflightForceOption,
  preflightOptions,
  tenantNameOption,
} from '../options';
import { checkFirst } from './checkFirst';
import { expectation, guidance } from './guidance';
import { runPhase } from './runPhase';

// Of a large catalog: for the help, which asks no database.
const EXAMPLE = { entities: 1_000_000, others: 4_000_000 };

const OPTIONS: Partial<Record<PhaseNumber, Option[]>> = {
  1: [...preflightOptions, preflightForceOption],
  2: [tenantNameOption],
  4: [
    noAdminGrantOption,
    forceOption(
      'go on although an old application is still connected, or views show the rows of every tenant',
    ),
  ],
  5: [
    freeDiskOption,
    forceOption('go on although things stay with the tables of before'),
  ],
  6: [baseUrlOption],
};

/** The commands of the phases. */
export const phaseCommands: CommandDefinition[] = phases.map(
  ({ number, steps }) => ({
    name: `phase${number}`,
    description: guidance[number].description,
    details: [
      `It takes ${expectation(number, EXAMPLE)}.`,
      'When it begins, it says what to expect of your tables. Its steps:',
      ...steps.map(({ title }) => `  - ${title}`),
      'A command that was stopped goes on where it was when it is run again.',
    ].join('\n'),
    access: 'change',
    options: OPTIONS[number] ?? [],
    async run(invocation) {
      const { migration } = invocation;
      if (number === 1 && (await migration.completedPhase()) === 0) {
        await checkFirst(invocation);
        await refuseWithoutTables(migration);
      }
      return runPhase(invocation, number);
    },
  }),
);
