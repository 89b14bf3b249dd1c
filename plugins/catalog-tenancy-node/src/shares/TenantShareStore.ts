import { ConflictError, InputError, NotFoundError } from '@backstage/errors';
import { parseInput } from '@internal/http-client';
import {
  type CreateShare,
  createShareSchema,
  type ReceivedShare,
  type TenantShare,
  type TenantShares,
  type UpdateShare,
  updateShareSchema,
} from 'backstage-plugin-tenants-common';
import type { FilterPredicate } from '@backstage/filter-predicates';
import type { Knex } from 'knex';
import { randomUUID } from 'node:crypto';
import { isStorable, readFilter } from '../catalog/conditions';
import { parseFilter } from '../catalog/parseFilter';
import type { AdminDatabase } from '../database/AdminDatabase';
import type { TenancyPool } from '../pool/TenancyPool';
import { findActiveTenant } from '../tenants/activeTenant';
import { changeTenant, type TenantChange } from '../tenants/changeTenant';
import { DEFAULT_TENANT_ID, isTenantSlug } from '../tenants/Tenant';

/**
 * A share of an active tenant, as engines need it.
 *
 * @public
 */
export interface ActiveShare {
  /** A UUID. */
  shareId: string;
  /** The id and slug of the tenant that shares. */
  source: { tenantId: string; tenantSlug: string };
  /** The ids of the receiving tenants; null for all. */
  targetIds: string[] | null;
  /** Selects the shared entities of the source. */
  filter: FilterPredicate;
  /** As in `TenantShare`. */
  owner: string | null;
  /** Changes with the entities that it selects, and with what is written into their copies. */
  version: string;
}

const DEFAULT_POSITION = 100;

/** Bounded, because each change of the source tenant evaluates all of its shares. */
const MOST_SHARES = 100;

/** A row of `tenant_shares` with its counts. */
interface ShareRow {
  share_id: string;
  target_slugs: string[] | null;
  filter: string[];
  owner: string | null;
  position: number;
  created_by: string;
  created_at: Date;
  updated_at: Date;
  copies: number;
  conflicts: number;
}

/**
 * The shares between tenants, in the registry.
 *
 * A change locks the row of the sharing tenant until the commit: `changeTenant`.
 *
 * @public
 */
export class TenantShareStore {
  constructor(
    private readonly options: { pool: TenancyPool; admin: AdminDatabase },
  ) {}

  /**
   * Lists what a tenant shares and receives.
   *
   * @throws NotFoundError if there is no such active tenant
   */
  async list(tenantSlug: string): Promise<TenantShares> {
    const { pool } = this.options;
    const { tenant_id: tenantId } = await findActiveTenant(pool, {
      tenant_slug: tenantSlug,
    });
    const shares = await pool.query<ShareRow>(knex =>
      selectShares(knex, tenantId),
    );
    const received = await pool.query<ReceivedShare>(knex =>
      knex('tenant_share_copies as c')
        .join('tenant_shares as s', 's.share_id', 'c.share_id')
        .join('tenants as t', 't.tenant_id', 's.tenant_id')
        .select('c.share_id', 't.tenant_slug', 'c.copies', 'c.conflicts')
        .where('c.tenant_id', tenantId)
        .orderByRaw('t.tenant_slug collate "C", s.position, s.created_at'),
    );
    return { shares: shares.map(toShare), received };
  }

  /**
   * Creates a share.
   *
   * @param options - `by`: who shares; `newId`: the id, the same for each attempt: a further one
   * replaces the share
   * @throws InputError for invalid values, and for a target that is not an active tenant, is
   * the source or the default tenant; NotFoundError if there is no such active tenant;
   * ConflictError if the tenant has the most shares allowed, or another one a share with `newId`
   */
  async create(
    tenantSlug: string,
    share: CreateShare,
    { by, newId }: { by: string; newId?: string | null },
  ): Promise<TenantShare> {
    const { targets, ...rest } = parseInput(createShareSchema, share, 'share');
    refuseUnreadable(rest.filter);
    const share_id = newId ?? randomUUID();
    return this.#change('make a share', tenantSlug, async change => {
      const { knex } = change.transaction;
      const [{ count }] = await change.transaction.query<{ count: string }>(
        knex('tenant_shares')
          .where('tenant_id', change.tenantId)
          .whereNot({ share_id })
          .count({ count: '*' }),
      );
      if (Number(count) >= MOST_SHARES) {
        throw new ConflictError(
          `The tenant '${tenantSlug}' has ${MOST_SHARES} shares, the most allowed: delete one first`,
        );
      }
      const values = {
        position: DEFAULT_POSITION,
        ...rest,
        target_ids: await targetIds(change, targets),
      };
      const made = await change.transaction.query(
        knex('tenant_shares')
          .insert({
            ...values,
            share_id,
            tenant_id: change.tenantId,
            created_by: by,
          })
          .onConflict('share_id')
          .merge({ ...values, updated_at: knex.fn.now() })
          .where('tenant_shares.tenant_id', change.tenantId)
          .returning('share_id'),
      );
      if (made.length === 0) {
        throw new ConflictError('Another tenant has a share with this id');
      }
      return readShare(change, share_id);
    });
  }

  /**
   * Changes a share.
   *
   * @throws as {@link TenantShareStore.create}; NotFoundError if the tenant has no such share
   */
  async update(
    tenantSlug: string,
    shareId: string,
    changes: UpdateShare,
  ): Promise<TenantShare> {
    const { targets, ...rest } = parseInput(
      updateShareSchema,
      changes,
      'share',
    );
    refuseUnreadable(rest.filter);
    return this.#change('change a share', tenantSlug, async change => {
      const { knex } = change.transaction;
      const changed = await change.transaction.query<ShareRow>(
        knex('tenant_shares')
          .update({
            ...rest,
            ...(targets && { target_ids: await targetIds(change, targets) }),
            updated_at: knex.fn.now(),
          })
          .where(whereIs(change, shareId))
          .returning('share_id'),
      );
      refuseMissing(changed, shareId, tenantSlug);
      return readShare(change, changed[0].share_id);
    });
  }

  /**
   * Ends a share: the engines of the receiving tenants remove its copies.
   *
   * @throws NotFoundError if the tenant has no such share
   */
  async delete(tenantSlug: string, shareId: string): Promise<void> {
    await this.#change('end a share', tenantSlug, async change => {
      const deleted = await change.transaction.query(
        change.transaction
          .knex('tenant_shares')
          .where(whereIs(change, shareId))
          .delete()
          .returning('share_id'),
      );
      refuseMissing(deleted, shareId, tenantSlug);
    });
  }

  /** The shares of all active tenants, highest priority first. */
  async listActive(): Promise<ActiveShare[]> {
    const rows = await this.options.pool.query<
      ShareRow & {
        tenant_id: string;
        tenant_slug: string;
        target_ids: string[] | null;
      }
    >(knex =>
      knex('tenant_shares as s')
        .join('tenants as t', 't.tenant_id', 's.tenant_id')
        .whereNull('t.deleted_at')
        .select('s.*', 't.tenant_slug')
        .orderBy(['s.position', 's.created_at', 's.share_id']),
    );
    return rows.map(row => ({
      shareId: row.share_id,
      source: { tenantId: row.tenant_id, tenantSlug: row.tenant_slug },
      targetIds: row.target_ids,
      filter: predicateOf(row.filter),
      owner: row.owner,
      // The content: two changes may fall into one millisecond.
      version: JSON.stringify([row.share_id, row.filter, row.owner]),
    }));
  }

  #change<T>(
    reason: string,
    tenant_slug: string,
    work: (change: TenantChange) => Promise<T>,
  ): Promise<T> {
    return changeTenant(this.options, reason, { tenant_slug }, work, {
      notify: tenantId => ({ engineOf: tenantId }),
    });
  }
}

/**
 * A share that can't be read has its receivers get no changes of other shares either.
 *
 * @throws InputError for a filter that is too large
 */
function refuseUnreadable(filter: string[] = []): void {
  readFilter(predicateOf(filter));
}

function predicateOf(filter: string[]): FilterPredicate {
  return parseFilter(filter) ?? { $any: [] };
}

/** Compares as text, so that an id that is not a UUID matches no share instead of failing. */
function whereIs({ tenantId }: TenantChange, shareId: string) {
  return (query: Knex.QueryBuilder) =>
    query
      .where('tenant_id', tenantId)
      .whereRaw('share_id::text = ?', [
        isStorable(shareId) ? shareId.toLocaleLowerCase('en-US') : null,
      ]);
}

/** @returns null if `targets` is `all` */
async function targetIds(
  { transaction, tenantId }: TenantChange,
  targets: 'all' | string[],
): Promise<string[] | null> {
  if (targets === 'all') {
    return null;
  }
  const rows = await transaction.query<{
    tenant_id: string;
    tenant_slug: string;
  }>(
    transaction
      .knex('tenants')
      .select('tenant_id', 'tenant_slug')
      .whereNull('deleted_at')
      .whereNotIn('tenant_id', [tenantId, DEFAULT_TENANT_ID])
      .whereIn('tenant_slug', targets.filter(isTenantSlug)),
  );
  const ids = new Map(rows.map(row => [row.tenant_slug, row.tenant_id]));
  const unfit = targets.find(slug => !ids.has(slug));
  if (unfit !== undefined) {
    throw new InputError(
      `Invalid share: targets must be the slugs of active tenants other than this one and 'default', got ${JSON.stringify(
        unfit.slice(0, 80),
      )}`,
    );
  }
  return [...ids.values()];
}

function selectShares(knex: Knex, tenantId: string) {
  return knex('tenant_shares as s')
    .where('s.tenant_id', tenantId)
    .select(
      's.*',
      knex.raw(
        `case when s.target_ids is not null then
           (select coalesce(array_agg(t.tenant_slug order by t.tenant_slug collate "C"), '{}')
              from tenants t where t.tenant_id = any (s.target_ids) and t.deleted_at is null)
         end as target_slugs`,
      ),
      knex.raw(
        `(select coalesce(sum(c.copies), 0)::int from tenant_share_copies c where c.share_id = s.share_id) as copies`,
      ),
      knex.raw(
        `(select coalesce(sum(c.conflicts), 0)::int from tenant_share_copies c where c.share_id = s.share_id) as conflicts`,
      ),
    )
    .orderBy(['s.position', 's.created_at', 's.share_id']);
}

async function readShare(
  { transaction, tenantId }: TenantChange,
  shareId: string,
): Promise<TenantShare> {
  const [row] = await transaction.query<ShareRow>(
    selectShares(transaction.knex, tenantId).where('s.share_id', shareId),
  );
  return toShare(row);
}

function toShare(row: ShareRow): TenantShare {
  return {
    share_id: row.share_id,
    targets: row.target_slugs ?? 'all',
    filter: row.filter,
    owner: row.owner,
    position: row.position,
    created_by: row.created_by,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    copies: row.copies,
    conflicts: row.conflicts,
  };
}

function refuseMissing(
  rows: object[],
  shareId: string,
  tenantSlug: string,
): void {
  if (rows.length === 0) {
    throw new NotFoundError(
      `The tenant '${tenantSlug}' has no share with the id ${JSON.stringify(
        shareId.slice(0, 80),
      )}`,
    );
  }
}
