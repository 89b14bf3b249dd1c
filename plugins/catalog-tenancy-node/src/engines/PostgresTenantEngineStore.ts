import { ConflictError, InputError, NotFoundError } from '@backstage/errors';
import type { JsonObject } from '@backstage/types';
import type { Knex } from 'knex';
import { isStorable } from '../catalog/conditions';
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
 * A change locks the tenant's row until the commit, so that the tenant is not deleted meanwhile
 * and changes are serialized. The lock (FOR NO KEY UPDATE) does not block checks of foreign
 * keys.
 *
 * @public
 */
export class PostgresTenantEngineStore implements TenantEngineStore {
  readonly #pool: TenancyPool;
  readonly #admin: AdminDatabase;
  readonly #changes: Pick<TenantEngineChanges, 'changed'>;

  /**
   * @param options - `changes`: the listeners of this process, called directly; other processes
   * are notified by NOTIFY
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
      selectEngines(knex).where('t.tenant_id', tenantId),
    );
    return row && toEngineRecord(row);
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
        // Read under the lock, so that two writers cannot both see the same revision.
        const before = await findEngine(change);
        if (
          options.ifRevisionIn?.includes(configRevisionOf(before)) === false
        ) {
          throw new PreconditionFailedError(
            `The configuration of the tenant '${tenantSlug}' was changed by ${
              before.configUpdatedBy ?? 'somebody else'
            } since it was read: read it again`,
          );
        }
        await putRow(change, options.by, {
          catalog_config: JSON.stringify(config),
          config_updated_at: change.transaction.knex.fn.now(),
          config_updated_by: options.by,
        });
        return findEngine(change);
      },
    );
  }

  /** {@inheritDoc TenantEngineStore.pause} */
  async pause(
    tenantSlug: string,
    options: { by: string },
  ): Promise<TenantEngineRecord> {
    return this.#setPause('pause the engine of a tenant', tenantSlug, {
      by: options.by,
      values: knex => ({ paused_at: knex.fn.now(), paused_by: options.by }),
    });
  }

  /** {@inheritDoc TenantEngineStore.resume} */
  async resume(tenantSlug: string): Promise<TenantEngineRecord> {
    return this.#setPause('resume the engine of a tenant', tenantSlug, {
      values: () => ({ paused_at: null, paused_by: null }),
    });
  }

  async #setPause(
    reason: string,
    tenantSlug: string,
    options: { by?: string; values: (knex: Knex) => object },
  ): Promise<TenantEngineRecord> {
    const { engine } = await this.#change(reason, tenantSlug, async change => {
      const before = await findEngine(change);
      const isPaused = before.pausedAt !== undefined;
      if (isPaused === (options.by !== undefined)) {
        return { engine: before, outcome: 'unchanged' as const };
      }
      await putRow(
        change,
        options.by ?? '',
        options.values(change.transaction.knex),
      );
      return {
        engine: await findEngine(change),
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

  /** Changes an engine as the administrator, and notifies the engine managers. */
  async #change<T extends object>(
    reason: string,
    tenantSlug: string,
    work: (change: Change) => Promise<T>,
  ): Promise<T> {
    let changes = false;
    try {
      return await this.#admin.run(reason, async transaction => {
        const { knex } = transaction;
        const [row] = await transaction.query<TenantRow>(
          selectTenant(knex, tenantSlug).forNoKeyUpdate(),
        );
        const tenantId = activeTenant(tenantSlug, row);
        if (tenantId === DEFAULT_TENANT_ID) {
          throw new ConflictError(
            `The tenant '${tenantSlug}' has no engine: the catalog plugin of the backend feeds it`,
          );
        }
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
      // Also if the commit fails: it may have taken effect although the answer was lost. A
      // change that was refused notifies no listener, because a listener may retry it.
      if (changes) {
        this.#changes.changed();
      }
    }
  }
}

/** A change to one tenant's engine, under the lock of the tenant's row. */
interface Change {
  transaction: AdminTransaction;
  tenantId: string;
  tenantSlug: string;
}

async function findEngine({
  transaction,
  tenantId,
}: Change): Promise<TenantEngineRecord> {
  const [row] = await transaction.query<EngineRow>(
    selectEngines(transaction.knex).where('t.tenant_id', tenantId),
  );
  return toEngineRecord(row);
}

/** Locks the engine's row until the commit; the tenant's row is already locked. */
async function putRow(
  { transaction, tenantId }: Change,
  by: string,
  values: object,
): Promise<void> {
  await transaction.query(
    transaction
      .knex('tenant_engines')
      .insert({ tenant_id: tenantId, created_by: by, ...values })
      .onConflict('tenant_id')
      .merge(values),
  );
}

/** @throws `InputError` that names the first text that PostgreSQL cannot store */
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
