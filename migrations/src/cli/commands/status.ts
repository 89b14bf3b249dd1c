import { readStatus } from '../../status';
import { renderStatus } from './renderStatus';
import type { CommandDefinition } from '../CommandDefinition';
import { stepsOption } from '../options';

/** Tells where the migration stands. */
export const status: CommandDefinition = {
  name: 'status',
  description:
    'Where the migration stands, which command is next, who is at work, and sizes.',
  details:
    'It changes nothing and locks nothing, so it may be run at any time.',
  access: 'read',
  options: [stepsOption],
  async run({ migration, options, report }) {
    const found = await readStatus(migration);
    report({ ...found });
    return renderStatus(found, options);
  },
};
