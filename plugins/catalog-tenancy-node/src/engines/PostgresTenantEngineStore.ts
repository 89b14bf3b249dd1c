import { ConflictError, InputError, NotFoundError } from '@backstage/errors';
import type { JsonObject } from '@backstage/types';
import type { Knex } from 'knex';
import { isStorable } from '../catalog/conditions';
import { isAdopted, lockTenant } from '../catalog/mutation/CatalogWriter';
import type {
  AdminDatabase,
  AdminTransaction,
} from '../database/AdminDatabase';
import type { TenancyPool } from '../pool/TenancyPool';
import { notifyStatement } from '../tenants/ChangeListener';
import { DEFAULT_TENANT_ID, isTenantSlug } from '../tenants/Tenant';
import {
  type EngineRow,
  listEngines,
  selectEngines,
  toEngineRecord,
} from './records';
import {
  configRevisionOf,
  PreconditionFailedError,
  type TenantEngineChanges,
  type TenantEngineRecord,
  type TenantEngineStore,
} from './TenantEngineStore';

interface TenantRow {
  tenant_id: string;
  deleted_at: Date | null;
}

/**
 * {@link TenantEngineStore} on PostgreSQL.
 *
 * A change holds two locks until the commit, and none on a table. The first is that of the
 * tenant's entities, as a mutation takes it: a mutation under way ends before, and a later
 * one sees what feeds the tenant. The second is on the tenant's row (NO KEY UPDATE, weaker
 * than what foreign keys ask for), so that the tenant is not deleted meanwhile. Each other
 * transaction takes one of the two at most, or both in this order.
 *
 * @public
 */
export class PostgresTenantEngineStore implements TenantEngineStore {
  readonly #pool: TenancyPool;
  readonly #admin: AdminDatabase;
  readonly #changes: Pick<TenantEngineChanges, 'changed'>;

  /**
   * @param options - `changes` is that of this process, which is told at once; those of
   * other processes are notified
   */
  constructor(options: {
    pool: TenancyPool;
    admin: AdminDatabase;
    changes: Pick<TenantEngineChanges, 'changed'>;
  }) {
    this.#pool = options.pool;
    this.#admin = options.admin;
    this.#changes = options.changes;
  }

  /** {@inheritDoc TenantEngineStore.list} */
  list(options?: { tenantIds?: string[] }): Promise<TenantEngineRecord[]> {
    return listEngines(this.#pool, options);
  }

  /** {@inheritDoc TenantEngineStore.get} */
  async get(tenantSlug: string): Promise<TenantEngineRecord | undefined> {
    const tenantId = await this.#findActive(tenantSlug);
    const [row] = await this.#pool.query<EngineRow>(knex =>
      selectEngines(knex).where('e.tenant_id', tenantId),
    );
    return row && toEngineRecord(row);
  }

  /** {@inheritDoc TenantEngineStore.enable} */
  async enable(
    tenantSlug: string,
    options: { by: string; replace?: boolean },
  ): Promise<{
    engine: TenantEngineRecord;
    outcome: 'created' | 'unchanged';
    replaced: number;
  }> {
    return this.#change('give a tenant an engine', tenantSlug, async change => {
      const { transaction, tenantId } = change;
      if (tenantId === DEFAULT_TENANT_ID) {
        throw new ConflictError(
          `The tenant '${tenantSlug}' needs no engine: the catalog plugin of the backend feeds it`,
        );
      }
      const present = await findEngine(change);
      if (present) {
        return { engine: present, outcome: 'unchanged' as const, replaced: 0 };
      }
      await refuseLeaving(change);
      // What triggers of an adoption carry is the engine's, and not code's.
      const isCarried = await isAdopted(transaction, tenantId);
      const live = isCarried ? 0 : await countLive(change);
      if (live > 0 && !options.replace) {
        throw new ConflictError(
          `The tenant '${tenantSlug}' has ${live} ${
            live === 1 ? 'entity' : 'entities'
          } that code has written, and an engine would leave none of them. ` +
            'Delete them first, or give "replace": true to delete them for good',
        );
      }
      if (!isCarried) {
        await deleteEntities(change);
      }
      await transaction.query(
        transaction
          .knex('tenant_engines')
          .insert({ tenant_id: tenantId, created_by: options.by }),
      );
      return {
        engine: await requireEngine(change),
        outcome: 'created' as const,
        replaced: live,
      };
    });
  }

  /** {@inheritDoc TenantEngineStore.disable} */
  async disable(tenantSlug: string): Promise<{ kept: number }> {
    return this.#change(
      'take the engine from a tenant',
      tenantSlug,
      async change => {
        const { transaction, tenantId } = change;
        await requireEngine(change);
        await transaction.query(
          transaction
            .knex('tenant_engines')
            .where('tenant_id', tenantId)
            .update({
              disabled_at: transaction.knex.fn.now(),
              catalog_config: null,
              config_updated_at: null,
              config_updated_by: null,
            }),
        );
        return { kept: await countLive(change) };
      },
    );
  }

  /** {@inheritDoc TenantEngineStore.finishDisable} */
  async finishDisable(tenantId: string): Promise<void> {
    // It locks the row of the table that it deletes, and only who enables waits for it.
    await this.#admin.run('forget an engine', ({ knex, query }) =>
      query(
        knex('tenant_engines')
          .where('tenant_id', tenantId)
          .whereNotNull('disabled_at')
          .delete(),
      ),
    );
  }

  /** {@inheritDoc TenantEngineStore.putConfig} */
  async putConfig(
    tenantSlug: string,
    config: JsonObject,
    options: { by: string; ifRevisionIn?: readonly string[] },
  ): Promise<TenantEngineRecord> {
    refuseUnstorable(config);
    return this.#change(
      'configure the engine of a tenant',
      tenantSlug,
      async change => {
        const { transaction, tenantId } = change;
        // Under the locks of the change, which let one write after the other read this.
        const before = await requireEngine(change);
        if (
          options.ifRevisionIn?.includes(configRevisionOf(before)) === false
        ) {
          throw new PreconditionFailedError(
            `The configuration of the tenant '${tenantSlug}' was changed by ${
              before.configUpdatedBy ?? 'somebody else'
            } since it was read: read it again`,
          );
        }
        await transaction.query(
          transaction
            .knex('tenant_engines')
            .where('tenant_id', tenantId)
            .update({
              catalog_config: JSON.stringify(config),
              config_updated_at: transaction.knex.fn.now(),
              config_updated_by: options.by,
            }),
        );
        return requireEngine(change);
      },
    );
  }

  /** {@inheritDoc TenantEngineStore.pause} */
  async pause(
    tenantSlug: string,
    options: { by: string },
  ): Promise<TenantEngineRecord> {
    return this.#setPause('pause the engine of a tenant', tenantSlug, {
      isPaused: true,
      values: knex => ({ paused_at: knex.fn.now(), paused_by: options.by }),
    });
  }

  /** {@inheritDoc TenantEngineStore.resume} */
  async resume(tenantSlug: string): Promise<TenantEngineRecord> {
    return this.#setPause('resume the engine of a tenant', tenantSlug, {
      isPaused: false,
      values: () => ({ paused_at: null, paused_by: null }),
    });
  }

  async #setPause(
    reason: string,
    tenantSlug: string,
    options: { isPaused: boolean; values: (knex: Knex) => object },
  ): Promise<TenantEngineRecord> {
    const { engine } = await this.#change(reason, tenantSlug, async change => {
      const { transaction, tenantId } = change;
      const { knex } = transaction;
      const before = await requireEngine(change);
      if ((before.pausedAt !== undefined) === options.isPaused) {
        return { engine: before, outcome: 'unchanged' as const };
      }
      // It locks the row of the table until the commit. Who enables, disables or configures the
      // same engine waits for that, behind the locks that each change takes first.
      await transaction.query(
        knex('tenant_engines')
          .where('tenant_id', tenantId)
          .update(options.values(knex)),
      );
      return {
        engine: await requireEngine(change),
        outcome: 'changed' as const,
      };
    });
    return engine;
  }

  async #findActive(tenantSlug: string): Promise<string> {
    const rows = isTenantSlug(tenantSlug)
      ? await this.#pool.query<TenantRow>(knex =>
          selectTenant(knex, tenantSlug),
        )
      : [];
    return activeTenant(tenantSlug, rows[0]);
  }

  /** Changes what feeds a tenant as the administrator, and tells what runs the engines. */
  async #change<T extends object>(
    reason: string,
    tenantSlug: string,
    work: (change: Change) => Promise<T>,
  ): Promise<T> {
    // The lock of its entities has the id of the tenant, which never changes.
    const tenantId = await this.#findActive(tenantSlug);
    let changes = false;
    try {
      return await this.#admin.run(reason, async transaction => {
        const { knex } = transaction;
        await transaction.query(lockTenant(knex, tenantId));
        const [row] = await transaction.query<TenantRow>(
          selectTenant(knex, tenantSlug)
            .where('tenant_id', tenantId)
            .forNoKeyUpdate(),
        );
        activeTenant(tenantSlug, row);
        const result = await work({ transaction, tenantId, tenantSlug });
        changes = !('outcome' in result && result.outcome === 'unchanged');
        if (changes) {
          await transaction.query(
            notifyStatement(knex, this.#pool.schema, { engineOf: tenantId }),
          );
        }
        return result;
      });
    } finally {
      // Also where the commit fails: it may have taken effect, and the answer was lost. What
      // was refused before has changed nothing, and must call nobody: who is called may be
      // who asks again.
      if (changes) {
        this.#changes.changed();
      }
    }
  }
}

/** A change to what feeds one tenant, under its locks. */
interface Change {
  transaction: AdminTransaction;
  tenantId: string;
  tenantSlug: string;
}

async function findEngine({
  transaction,
  tenantId,
}: Change): Promise<TenantEngineRecord | undefined> {
  const [row] = await transaction.query<EngineRow>(
    selectEngines(transaction.knex).where('e.tenant_id', tenantId),
  );
  return row && toEngineRecord(row);
}

async function requireEngine(change: Change): Promise<TenantEngineRecord> {
  const engine = await findEngine(change);
  if (!engine) {
    throw new NotFoundError(
      `The tenant '${change.tenantSlug}' has no engine: code feeds it`,
    );
  }
  return engine;
}

/** @throws `ConflictError` while the tables of an earlier engine are being removed */
async function refuseLeaving({
  transaction,
  tenantId,
  tenantSlug,
}: Change): Promise<void> {
  const leaving = await transaction.query(
    transaction
      .knex('tenant_engines')
      .where('tenant_id', tenantId)
      .select('tenant_id'),
  );
  if (leaving.length > 0) {
    throw new ConflictError(
      `The earlier engine of the tenant '${tenantSlug}' is still being removed: try again in some seconds`,
    );
  }
}

async function countLive({ transaction, tenantId }: Change): Promise<number> {
  const [{ count }] = await transaction.query<{ count: string }>(
    transaction
      .knex('entities')
      .where('tenant_id', tenantId)
      .whereNull('deleted_at')
      .count({ count: '*' }),
  );
  return Number(count);
}

/** As a purge: each statement is bounded, and may not take longer than any other. */
const BATCH_SIZE = 1_000;

/**
 * Deletes all entities of the tenant, those that are marked as deleted too: an engine has
 * entities of the same references under other ids. What belongs to them cascades.
 *
 * The rows stay locked until the commit. Readers do not wait and see them until then, and
 * writers of the tenant wait for the first lock anyway.
 */
async function deleteEntities({
  transaction,
  tenantId,
}: Change): Promise<void> {
  const { knex } = transaction;
  let last = BATCH_SIZE;
  while (last === BATCH_SIZE) {
    const deleted = await transaction.query(
      knex.raw(
        `delete from entities
          where tenant_id = ? and entity_id = any (array(
            select entity_id from entities where tenant_id = ? limit ?))
         returning entity_id`,
        [tenantId, tenantId, BATCH_SIZE],
      ),
    );
    last = deleted.length;
  }
}

/** @throws `InputError` that names the first text that PostgreSQL can't store */
function refuseUnstorable(value: unknown, path: string = 'catalog_config') {
  if (typeof value === 'string' && !isStorable(value)) {
    throw new InputError(
      `${path} must be a text without NUL characters and lone surrogates`,
    );
  }
  if (typeof value === 'object' && value !== null) {
    for (const [key, child] of Object.entries(value)) {
      if (!isStorable(key)) {
        throw new InputError(
          `The keys of ${path} must be texts without NUL characters and lone surrogates`,
        );
      }
      refuseUnstorable(child, `${path}.${key}`);
    }
  }
}

function selectTenant(knex: Knex, tenantSlug: string) {
  return knex('tenants')
    .select('tenant_id', 'deleted_at')
    .where('tenant_slug', tenantSlug);
}

function activeTenant(tenantSlug: string, row?: TenantRow): string {
  if (!row || row.deleted_at) {
    throw new NotFoundError(
      row
        ? `The tenant '${tenantSlug}' is deleted. It can be restored`
        : `No tenant with the slug '${tenantSlug}'`,
    );
  }
  return row.tenant_id;
}
