import { ConflictError, InputError } from '@backstage/errors';
import type { JsonObject } from '@backstage/types';
import type { Knex } from 'knex';
import { isStorable } from '../catalog/conditions';
import type { AdminDatabase } from '../database/AdminDatabase';
import type { TenancyPool } from '../pool/TenancyPool';
import { findActiveTenant } from '../tenants/activeTenant';
import {
  assertDemands,
  changeTenant,
  PreconditionFailedError,
  type TenantChange,
} from '../tenants/changeTenant';
import { DEFAULT_TENANT_ID } from '../tenants/Tenant';
import {
  type EngineRow,
  listEngines,
  selectEngines,
  toEngineRecord,
} from './records';
import {
  configRevisionOf,
  type TenantEngineChanges,
  type TenantEngineRecord,
} from './TenantEngineRecord';

/**
 * The configuration of tenants' catalog engines. It checks no permissions.
 *
 * Changes take the administrator's path.
 *
 * A change locks the tenant's row until the commit: `changeTenant`.
 *
 * @public
 */
export class TenantEngineStore {
  /**
   * @param options - `changes`: the listeners of this process, called directly; other processes
   * are notified by NOTIFY
   */
  constructor(
    private readonly options: {
      pool: TenancyPool;
      admin: AdminDatabase;
      changes: Pick<TenantEngineChanges, 'changed'>;
    },
  ) {}

  /**
   * All records, including deleted tenants, ordered by slug. One statement.
   *
   * @param options - `tenantIds`: only these tenants
   */
  list(options?: { tenantIds?: string[] }): Promise<TenantEngineRecord[]> {
    return listEngines(this.options.pool, options);
  }

  /**
   * The record of an active tenant; undefined for the default tenant.
   *
   * @throws `NotFoundError` if there is no such tenant, or it is deleted
   */
  async get(tenantSlug: string): Promise<TenantEngineRecord | undefined> {
    const { pool } = this.options;
    const { tenant_id } = await findActiveTenant(pool, {
      tenant_slug: tenantSlug,
    });
    const [row] = await pool.query<EngineRow>(knex =>
      selectEngines(knex).where('t.tenant_id', tenant_id),
    );
    return row && toEngineRecord(row);
  }

  /**
   * Replaces the configuration of an active tenant's engine. Call
   * `TenantEngines.validateConfig` first: this method does not check the content.
   *
   * @param options - `by`: the user or service that makes the change; `ifRevisionIn`: the
   * required {@link configRevisionOf | revision} of the current configuration; `whileAdmin` and
   * `demands`: as of `TenantMemberStore.put`
   * @throws `InputError` for text that PostgreSQL cannot store; `NotFoundError` as in `get`;
   * `ConflictError` for the default tenant; `PreconditionFailedError` if the current revision
   * is not in `ifRevisionIn`, and by `demands`; `NotAllowedError` by `whileAdmin`
   */
  async putConfig(
    tenantSlug: string,
    config: JsonObject,
    options: {
      by: string;
      ifRevisionIn?: readonly string[];
      demands?: readonly boolean[];
      whileAdmin?: readonly string[];
    },
  ): Promise<TenantEngineRecord> {
    refuseUnstorable(config);
    return this.#change(
      'configure the engine of a tenant',
      tenantSlug,
      async change => {
        // Read under the lock, so that two writers cannot both see the same revision.
        const before = await findEngine(change);
        assertDemands(
          before.catalogConfig !== undefined,
          'a configuration',
          options.demands,
        );
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
      options,
    );
  }

  /**
   * Pauses the engine of an active tenant in every process and across restarts: it ingests
   * nothing and starts no scheduled task until {@link TenantEngineStore.resume}. Running tasks
   * may finish; its routes and all reads continue.
   *
   * @param options - `by`: the user or service that pauses it
   * @returns the record; an existing pause stays unchanged
   * @throws `NotFoundError` and `ConflictError` as in `putConfig`
   */
  async pause(
    tenantSlug: string,
    options: { by: string },
  ): Promise<TenantEngineRecord> {
    return this.#setPause('pause the engine of a tenant', tenantSlug, {
      by: options.by,
      values: knex => ({ paused_at: knex.fn.now(), paused_by: options.by }),
    });
  }

  /**
   * Ends the pause of an engine, if there is one.
   *
   * @throws `NotFoundError` and `ConflictError` as in `putConfig`
   */
  async resume(tenantSlug: string): Promise<TenantEngineRecord> {
    return this.#setPause('resume the engine of a tenant', tenantSlug, {
      values: () => ({ paused_at: null, paused_by: null }),
    });
  }

  #setPause(
    reason: string,
    tenantSlug: string,
    options: { by?: string; values: (knex: Knex) => object },
  ): Promise<TenantEngineRecord> {
    const { by, values } = options;
    return this.#change(reason, tenantSlug, async change => {
      const before = await findEngine(change);
      // It counts as paused while its tenant moves, too.
      if ((before.pausedBy !== undefined) === (by !== undefined)) {
        return before;
      }
      await putRow(change, by ?? '', values(change.transaction.knex));
      return findEngine(change);
    });
  }

  /** Changes an engine as the administrator, and notifies the engine managers. */
  #change<T>(
    reason: string,
    tenant_slug: string,
    work: (change: TenantChange) => Promise<T>,
    { whileAdmin }: { whileAdmin?: readonly string[] } = {},
  ): Promise<T> {
    return changeTenant(
      this.options,
      reason,
      { tenant_slug },
      async change => {
        if (change.tenantId === DEFAULT_TENANT_ID) {
          throw new ConflictError(
            `The tenant '${change.tenantSlug}' has no engine: the catalog plugin of the backend feeds it`,
          );
        }
        return work(change);
      },
      {
        whileAdmin,
        notify: tenantId => ({ engineOf: tenantId }),
        onChanged: tenantId =>
          this.options.changes.changed({ engineOf: tenantId }),
      },
    );
  }
}

async function findEngine({
  transaction,
  tenantId,
}: TenantChange): Promise<TenantEngineRecord> {
  const [row] = await transaction.query<EngineRow>(
    selectEngines(transaction.knex).where('t.tenant_id', tenantId),
  );
  return toEngineRecord(row);
}

/** Locks the engine's row until the commit; the tenant's row is already locked. */
async function putRow(
  { transaction, tenantId }: TenantChange,
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
