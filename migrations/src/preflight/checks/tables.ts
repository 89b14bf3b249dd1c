import { readAdoptionStatus } from '../../adopt/status';
import { storage } from '../../checks/shape';
import { TENANT_TABLES } from '../../schema/tables';
import { describeCatalog, readCatalogTables } from '../../status/next';
import { enumerate } from '../../text';
import { failure, ok } from '../PreflightCheck';
import type {
  Outcome,
  PreflightCheck,
  PreflightContext,
} from '../PreflightCheck';
import { examine } from './layout';

/** All three tables exist, or none, and they are ordinary tables. */
export const tables: PreflightCheck = {
  name: 'tables',
  scope: 'server',
  async run(context) {
    const { facts, settings } = context;
    if (facts.swapped) {
      return [ok('The partitioned tables of phase 5 are in place.')];
    }
    const found = facts.tables.map(({ name }) => name);
    const missing = TENANT_TABLES.filter(name => !found.includes(name));
    if (missing.length === 0) {
      const outcomes = await examine(context, storage);
      return outcomes.length > 0 ? outcomes : [ok(storage.fine)];
    }
    const { force, schema } = settings;
    const catalogTables = await readCatalogTables(context, 0);
    if (catalogTables.fitInPublic) {
      return [
        {
          level: force ? 'warning' : 'failure',
          message: `The schema ${schema} has no table entities, but the schema public has one that fits.`,
          advice:
            'Give --schema public. Or --force, if that is not the catalog to migrate.',
        },
      ];
    }
    return found.length === 0
      ? [await judgeStockCatalog(context)]
      : [
          failure(
            `The schema ${settings.schema} has ${enumerate(found)}, but no ` +
              `${missing.join(' and no ')}.`,
            {
              advice:
                'Expected all three of them, or none. Beside the catalog of Backstage, ' +
                'which has tables of the same names, give another --schema.',
            },
          ),
        ];
  },
};

/** Without the three tables, the stock catalog may have to be adopted first. */
async function judgeStockCatalog(context: PreflightContext): Promise<Outcome> {
  const none = `The schema ${context.settings.schema} has none of the three tables`;
  const adoption = await readAdoptionStatus(context);
  return ok(
    adoption.engineTables
      ? `${none}: they are created beside ${describeCatalog(adoption)}.`
      : `${none}: a fresh database.`,
  );
}
