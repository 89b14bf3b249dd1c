import { readStatus } from '../../status';
import { renderStatus } from '../../status/renderStatus';
import type { CommandDefinition } from '../CommandDefinition';

/** Tells where the migration stands. */
export const status: CommandDefinition = {
  name: 'status',
  description:
    'Where the migration stands: phases and steps, who is at work, sizes, what is next.',
  details:
    'It changes nothing and locks nothing, so it may be run at any time.',
  access: 'read',
  options: [],
  async run({ migration, report }) {
    const found = await readStatus(migration);
    report({ ...found });
    return renderStatus(found);
  },
};
