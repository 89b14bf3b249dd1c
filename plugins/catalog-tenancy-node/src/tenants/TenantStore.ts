import { ConflictError } from '@backstage/errors';
import { parseInput } from '@internal/http-client';
import {
  type CreateTenant,
  createTenantSchema,
  type ListTenants,
  listTenantsSchema,
  type UpdateTenant,
  updateTenantSchema,
} from 'backstage-plugin-tenants-common';
import type { Knex } from 'knex';
import { setChangedTenant } from '../audit/auditedChange';
import type {
  AdminDatabase,
  AdminTransaction,
} from '../database/AdminDatabase';
import type { TenantDatabase } from '../database/TenantDatabase';
import type { TenancyPool } from '../pool/TenancyPool';
import {
  DEFAULT_TENANT_ID,
  isTenantSlug,
  type Tenant,
  type TenantUsage,
} from './Tenant';
import type { TenantDirectory } from './TenantDirectory';
import { missingError } from './activeTenant';
import { notifyStatement } from './ChangeListener';
import { LIMIT_NAMES } from './limits';
import { readPage } from './readPage';

export type { CreateTenant, ListTenants, UpdateTenant };

const TENANT_COLUMNS = [
  'tenant_id',
  'tenant_slug',
  'tenant_name',
  'max_entities',
  'entity_ttl_days',
  ...LIMIT_NAMES,
  'created_at',
  'updated_at',
  'deleted_at',
] as const satisfies (keyof Tenant)[];

const COUNTED_AT_ONCE = 3;

/** A row of `tenants`, as the driver returns it. */
interface TenantRow
  extends Omit<Tenant, 'created_at' | 'updated_at' | 'deleted_at'> {
  created_at: Date;
  updated_at: Date;
  deleted_at: Date | null;
}

/** In the order of the API. */
function toTenant(row: TenantRow): Tenant {
  return {
    tenant_id: row.tenant_id,
    tenant_slug: row.tenant_slug,
    tenant_name: row.tenant_name,
    max_entities: row.max_entities,
    entity_ttl_days: row.entity_ttl_days,
    concurrency: row.concurrency,
    requests_per_second: row.requests_per_second,
    burst: row.burst,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    deleted_at: row.deleted_at?.toISOString() ?? null,
  };
}

/**
 * The registry of tenants (specification B.1). It checks no permissions.
 *
 * Changes take the administrator's path.
 *
 * A change locks one row of the registry until the commit, and no table. It waits only for
 * other changes to the same tenant. It changes no key column, so it does not block checks of
 * foreign keys.
 *
 * @public
 */
export class TenantStore {
  /**
   * @param options - `directory`: the cache of this process, invalidated directly; other
   * processes are notified by NOTIFY
   */
  constructor(
    private readonly options: {
      pool: TenancyPool;
      admin: AdminDatabase;
      database: TenantDatabase;
      directory: Pick<TenantDirectory, 'forget'>;
    },
  ) {}

  /**
   * A page of the registry, ordered by slug, and the total number of tenants.
   *
   * @throws `InputError` for what is out of bounds
   */
  async list(
    options: ListTenants = {},
  ): Promise<{ items: Tenant[]; totalItems: number }> {
    const { deleted, search, ...page } = parseInput(
      listTenantsSchema,
      options,
      'query',
    );
    const { items, totalItems } = await readPage<TenantRow>(
      this.options.pool,
      page,
      // A search scans the registry, which has one row for each tenant.
      knex =>
        knex('tenants').where(tenants => {
          if (!deleted) {
            tenants.whereNull('deleted_at');
          }
          if (search) {
            tenants.where(text => containsText(text, search));
          }
        }),
      tenants =>
        tenants
          .select(TENANT_COLUMNS)
          // The same order under every collation of the database.
          .orderByRaw('tenant_slug collate "C"'),
    );
    return { items: items.map(toTenant), totalItems };
  }

  /** A tenant, even if deleted; undefined if there is none with this slug. */
  async get(tenantSlug: string): Promise<Tenant | undefined> {
    if (!isTenantSlug(tenantSlug)) {
      return undefined;
    }
    const [row] = await this.options.pool.query<TenantRow>(knex =>
      selectTenant(knex, tenantSlug),
    );
    return row && toTenant(row);
  }

  /**
   * Creates a tenant without entities.
   *
   * @param options - `newId`: the id, the same for each attempt: a further one gets the tenant
   * @throws `InputError` for what is out of bounds; `ConflictError` if the slug is
   * taken, also by a deleted tenant
   */
  async create(
    tenant: CreateTenant,
    { newId }: { newId?: string | null } = {},
  ): Promise<Tenant> {
    const values = parseInput(createTenantSchema, tenant, 'tenant');
    const slug = values.tenant_slug;
    return this.#change('create a tenant', slug, async transaction => {
      // Of two concurrent inserts, the second waits for the first to commit, and then inserts
      // nothing.
      const [created] = await transaction.query<TenantRow>(
        transaction
          .knex('tenants')
          .insert({ ...values, ...(newId && { tenant_id: newId }) })
          .onConflict()
          .ignore()
          .returning('*'),
      );
      if (!created) {
        const taken = await findTenant(transaction, slug);
        if (taken && taken.tenant_id === newId && !taken.deleted_at) {
          return toTenant(taken);
        }
        throw takenError(slug, taken);
      }
      if (await isRetired(transaction, slug)) {
        throw new ConflictError(
          `The slug '${slug}' belonged to a purged tenant, whose users other tenants may still mention. Choose another one`,
        );
      }
      setChangedTenant(created);
      return toTenant(created);
    });
  }

  /**
   * Changes the name or the limits of an active tenant. Lowering `max_entities` removes no
   * entities.
   *
   * @throws `InputError` for what is out of bounds, or for no change at all;
   * `NotFoundError` if there is no such tenant, or it is deleted
   */
  async update(tenantSlug: string, changes: UpdateTenant): Promise<Tenant> {
    const values = parseInput(
      updateTenantSchema,
      changes,
      'changes to a tenant',
    );
    return this.#change('change a tenant', tenantSlug, async transaction => {
      const [updated] = await transaction.query<TenantRow>(
        updateTenant(transaction.knex, tenantSlug, values).whereNull(
          'deleted_at',
        ),
      );
      if (!updated) {
        throw missingError(
          tenantSlug,
          await findTenant(transaction, tenantSlug),
        );
      }
      setChangedTenant(updated);
      return toTenant(updated);
    });
  }

  /**
   * Marks a tenant as deleted. It stops resolving at once and keeps its rows.
   *
   * @throws `NotFoundError` if there is no such tenant, or it is deleted already;
   * `ConflictError` for the default tenant
   */
  async delete(tenantSlug: string): Promise<void> {
    await this.#change('delete a tenant', tenantSlug, async transaction => {
      const { knex } = transaction;
      const [deleted] = await transaction.query<TenantRow>(
        updateTenant(knex, tenantSlug, { deleted_at: knex.fn.now() })
          .whereNull('deleted_at')
          .whereNot('tenant_id', DEFAULT_TENANT_ID),
      );
      if (!deleted) {
        const tenant = await findTenant(transaction, tenantSlug);
        throw tenant?.tenant_id === DEFAULT_TENANT_ID
          ? new ConflictError(
              `The tenant '${tenantSlug}' cannot be deleted: requests that name no tenant belong to it`,
            )
          : missingError(tenantSlug, tenant);
      }
      setChangedTenant(deleted);
    });
  }

  /**
   * Makes a deleted tenant active again. An active tenant stays unchanged.
   *
   * @throws `NotFoundError` if there is no such tenant
   */
  async restore(tenantSlug: string): Promise<Tenant> {
    return this.#change('restore a tenant', tenantSlug, async transaction => {
      const [restored] = await transaction.query<TenantRow>(
        updateTenant(transaction.knex, tenantSlug, {
          deleted_at: null,
        }).whereNotNull('deleted_at'),
      );
      const tenant = restored ?? (await findTenant(transaction, tenantSlug));
      if (!tenant) {
        throw missingError(tenantSlug);
      }
      if (await isRetired(transaction, tenantSlug)) {
        throw new ConflictError(
          `The tenant '${tenantSlug}' is being purged and can no longer be restored`,
        );
      }
      setChangedTenant(tenant);
      return toTenant(tenant);
    });
  }

  /**
   * Counts the rows of a tenant, even if deleted.
   *
   * @throws `NotFoundError` if there is no such tenant
   */
  async usage(tenantSlug: string): Promise<TenantUsage> {
    const tenant = await this.get(tenantSlug);
    if (!tenant) {
      throw missingError(tenantSlug);
    }
    const [counts] = await this.options.database.query<Record<string, string>>(
      tenant.tenant_id,
      scope =>
        scope
          .table('entities')
          .select(
            scope.knex.raw(
              'count(*) filter (where deleted_at is null) as live',
            ),
            scope.knex.raw(
              'count(*) filter (where deleted_at is not null) as deleted',
            ),
            scope.table('relations').count('*').as('relations'),
          ),
    );
    const [{ shared }] = await this.options.pool.query<{ shared: string }>(
      knex =>
        knex('tenant_share_copies')
          .where('tenant_id', tenant.tenant_id)
          .select(knex.raw('coalesce(sum(copies), 0) as shared')),
    );
    const { tenant_id, tenant_name, updated_at, deleted_at, ...limits } =
      tenant;
    return {
      ...limits,
      live_entities: Math.max(0, Number(counts.live) - Number(shared)),
      shared_entities: Number(shared),
      deleted_entities: Number(counts.deleted),
      relations: Number(counts.relations),
    };
  }

  /**
   * Counts the live entities of tenants, including deleted tenants.
   *
   * @returns the counts by id; 0 for an unknown id
   */
  async countEntities(tenantIds: string[]): Promise<Map<string, number>> {
    const counts = new Map<string, number>();
    const waiting = [...tenantIds];
    // One query for each tenant, in its context, as the policy requires; a few at a time, to
    // leave the pool to requests.
    const countNext = async (): Promise<void> => {
      for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
        const [{ live }] = await this.options.database.query<{ live: string }>(
          id,
          scope =>
            scope
              .table('entities')
              .whereNull('deleted_at')
              .count({ live: '*' }),
          // A tenant with too much under way must not keep the list of all from its reader.
          { continues: true },
        );
        counts.set(id, Number(live));
      }
    };
    await Promise.all(Array.from({ length: COUNTED_AT_ONCE }, countNext));
    return counts;
  }

  /** Changes a tenant as the administrator, and invalidates all directories. */
  async #change<T>(
    reason: string,
    tenantSlug: string,
    work: (transaction: AdminTransaction) => Promise<T>,
  ): Promise<T> {
    if (!isTenantSlug(tenantSlug)) {
      throw missingError(tenantSlug);
    }
    try {
      return await this.options.admin.run(reason, async transaction => {
        const result = await work(transaction);
        await transaction.query(
          notifyStatement(transaction.knex, this.options.pool.schema, {
            tenantSlug,
          }),
        );
        return result;
      });
    } finally {
      // Also after a failure: the commit may have taken effect although its answer was lost.
      this.options.directory.forget(tenantSlug);
    }
  }
}

/**
 * Ignores case, and escapes the wildcards of ILIKE. Slugs are ASCII and compared by "C"; names
 * by the database's collation.
 */
function containsText(tenants: Knex.QueryBuilder, search: string): void {
  const pattern = `%${search.replace(/[\\%_]/g, '\\$&')}%`;
  tenants
    .whereRaw('tenant_slug collate "C" ilike ?', [pattern])
    .orWhereILike('tenant_name', pattern);
}

function selectTenant(knex: Knex, tenantSlug: string) {
  return knex('tenants')
    .select(TENANT_COLUMNS)
    .where('tenant_slug', tenantSlug);
}

async function findTenant(
  transaction: AdminTransaction,
  tenantSlug: string,
): Promise<TenantRow | undefined> {
  const [row] = await transaction.query<TenantRow>(
    selectTenant(transaction.knex, tenantSlug),
  );
  return row;
}

/**
 * Whether a purge of the slug has begun. Read after the change, which waits for a concurrent
 * purge that retires the slug.
 */
async function isRetired(
  transaction: AdminTransaction,
  tenantSlug: string,
): Promise<boolean> {
  const rows = await transaction.query(
    transaction.knex('retired_slugs').where('tenant_slug', tenantSlug),
  );
  return rows.length > 0;
}

function updateTenant(
  knex: Knex,
  tenantSlug: string,
  values: UpdateTenant | { deleted_at: Knex.Raw | null },
) {
  return knex('tenants')
    .where('tenant_slug', tenantSlug)
    .update({
      ...values,
      // Increases with every change, even if the clock does not. On a reference table, Citus
      // allows only immutable and stable expressions: no `clock_timestamp()`, and no addition
      // to a `timestamptz`, which depends on the session's time zone.
      updated_at: knex.raw(
        `greatest(now(), (updated_at at time zone 'UTC' + interval '1 millisecond') at time zone 'UTC')`,
      ),
    })
    .returning('*');
}

function takenError(tenantSlug: string, by?: TenantRow): ConflictError {
  return new ConflictError(
    by?.deleted_at
      ? `The slug '${tenantSlug}' is taken by a deleted tenant, which can be restored`
      : `The slug '${tenantSlug}' is taken`,
  );
}
