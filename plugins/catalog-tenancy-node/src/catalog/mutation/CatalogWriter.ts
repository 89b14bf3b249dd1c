import type { TenantDatabase } from '../../database';
import type { CatalogMutation, MutationResult } from '../CatalogMutation';
import { parseTenantId } from '../../pool/context';
import { planMutation } from './planMutation';
import { prepareMutation } from './prepareMutation';
import { refuseAdopted } from './refuseAdopted';
import { checkTenantAtEnd, readMaxEntities } from './registry';
import { lockTenant } from './tenantLock';
import { Turns } from './Turns';
import { WritableTables } from './WritableTables';
import { writePlan } from './writePlan';

/** Applies mutations: see `applyMutation` of the catalog store. */
export class CatalogWriter {
  readonly #database: TenantDatabase;
  readonly #tables = new WritableTables();
  // The lock of a tenant is waited for on a connection. Without turns, mutations of
  // one tenant could hold all of them, and every other tenant would wait.
  readonly #turns = new Turns();

  constructor(database: TenantDatabase) {
    this.#database = database;
  }

  async apply(
    anyTenantId: string,
    mutation: CatalogMutation,
  ): Promise<MutationResult> {
    const tenantId = parseTenantId(anyTenantId);
    const prepared = prepareMutation(mutation);
    return this.#turns.take(tenantId, () =>
      this.#database.transaction(tenantId, async transaction => {
        await transaction.query(lockTenant(transaction.knex, tenantId));
        await readMaxEntities(transaction);
        await refuseAdopted(transaction);
        await this.#tables.check(transaction);
        const plan = await planMutation(transaction, prepared);
        await writePlan(transaction, plan);
        await checkTenantAtEnd(transaction, {
          grows:
            plan.inserted.length + plan.revived.length > plan.deleted.length,
        });
        return {
          inserted: plan.inserted.length,
          updated: plan.updated.length,
          revived: plan.revived.length,
          unchanged: plan.unchanged,
          deleted: plan.deleted.length,
        };
      }),
    );
  }
}
