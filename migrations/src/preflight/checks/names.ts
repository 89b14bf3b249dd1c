import type { Creation } from '../../engine/Step';
import { Journal } from '../../engine/journal';
import { recordedBy } from '../../engine/ProductMigration';
import { explainTaken, takenNames } from '../../engine/ownership';
import { phases } from '../../phases';
import { failure, ok } from '../PreflightCheck';
import type { PreflightCheck } from '../PreflightCheck';

// The check of columns reports names of columns.
const NAMED: Creation['kind'][] = [
  'relation',
  'original',
  'function',
  'constraint',
  'trigger',
  'policy',
];

/** The names of all that the migration creates are free, or its own. */
export const names: PreflightCheck = {
  name: 'names',
  scope: 'server',
  async run(context) {
    const journal = await Journal.read(context.executor, recordedBy(phases));
    const taken = await takenNames(context, journal, NAMED);
    return taken.length === 0
      ? [ok('Nothing stands under the names that the migration uses.')]
      : [failure(explainTaken(taken), { details: taken })];
  },
};
