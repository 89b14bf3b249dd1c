import { ConflictError, NotFoundError } from '@backstage/errors';
import { parseInput } from '@internal/http-client';
import {
  type PutTenantSignIn,
  putTenantSignInSchema,
  type TenantSignIn,
} from 'backstage-plugin-tenants-common';
import type { AdminDatabase } from '../database/AdminDatabase';
import type { TenancyPool } from '../pool/TenancyPool';
import { findActiveTenant } from '../tenants/activeTenant';
import { assertDemands, changeTenant } from '../tenants/changeTenant';
import { isTenantSlug } from '../tenants/Tenant';
import type { ActiveTenant } from '../tenants/TenantDirectory';

/** Namespaces of users of other sign-ins: the identity catalog, and guests. */
const RESERVED = ['default', 'development'];

interface Row {
  tenant_id: string;
  provider: PutTenantSignIn;
  updated_by: string;
  updated_at: Date;
}

/**
 * The OpenID providers with which users of tenants sign in. It checks no permissions.
 *
 * Without a cache, because signing in and refreshing a session are rare. A change locks the
 * tenant's row: `changeTenant`.
 *
 * @public
 */
export class TenantSignInStore {
  constructor(
    private readonly options: { pool: TenancyPool; admin: AdminDatabase },
  ) {}

  /**
   * The provider of an active tenant; undefined if it has none.
   *
   * @throws `NotFoundError` if there is no such tenant, or it is deleted
   */
  async get(tenantSlug: string): Promise<TenantSignIn | undefined> {
    await findActiveTenant(this.options.pool, { tenant_slug: tenantSlug });
    const row = await this.#read(tenantSlug);
    return row && toSignIn(row.provider, row);
  }

  /**
   * The current provider, for a sign-in.
   *
   * @param tenantSlug - untrusted input
   * @returns undefined if the tenant does not exist, is deleted, or has no provider
   */
  async find(
    tenantSlug: string,
  ): Promise<{ tenant: ActiveTenant; provider: PutTenantSignIn } | undefined> {
    const row = await this.#read(tenantSlug);
    return row && !RESERVED.includes(tenantSlug)
      ? {
          tenant: { tenantId: row.tenant_id, tenantSlug },
          provider: row.provider,
        }
      : undefined;
  }

  /**
   * Sets or replaces the provider of an active tenant.
   *
   * @param options - `by`: the user or service that makes the change; `whileAdmin` and `demands`: as
   * of `TenantMemberStore.put`
   * @throws `InputError` for an invalid provider; `NotFoundError` as in `get`; `ConflictError`
   * for a tenant whose slug is a reserved namespace of users; `NotAllowedError` by `whileAdmin`;
   * `PreconditionFailedError` by `demands`
   */
  async put(
    tenantSlug: string,
    request: PutTenantSignIn,
    options: {
      by: string;
      whileAdmin?: readonly string[];
      demands?: readonly boolean[];
    },
  ): Promise<TenantSignIn> {
    const provider = parseInput(putTenantSignInSchema, request, 'sign-in');
    if (RESERVED.includes(tenantSlug)) {
      throw new ConflictError(
        `The tenant '${tenantSlug}' cannot have its own sign-in: users of the portal are called user:${tenantSlug}/<name>`,
      );
    }
    return changeTenant(
      this.options,
      'put a sign-in',
      { tenant_slug: tenantSlug },
      async ({ transaction, tenantId }) => {
        const { knex } = transaction;
        const before = await transaction.query(
          knex('tenant_sign_in').where('tenant_id', tenantId),
        );
        assertDemands(before.length > 0, 'a sign-in', options.demands);
        const [row] = await transaction.query<Row>(
          knex('tenant_sign_in')
            .insert({
              tenant_id: tenantId,
              provider: JSON.stringify(provider),
              updated_by: options.by,
              updated_at: knex.fn.now(),
            })
            .onConflict('tenant_id')
            .merge()
            .returning(['updated_by', 'updated_at']),
        );
        return toSignIn(provider, row);
      },
      { whileAdmin: options.whileAdmin },
    );
  }

  /**
   * Removes the provider: it can neither sign in users nor refresh sessions any more.
   *
   * @param options - `whileAdmin`: as in `put`
   * @throws `NotFoundError` if there is none, or as in `get`; `NotAllowedError` by `whileAdmin`
   */
  async remove(
    tenantSlug: string,
    options: { whileAdmin?: readonly string[] } = {},
  ): Promise<void> {
    await changeTenant(
      this.options,
      'remove a sign-in',
      { tenant_slug: tenantSlug },
      async ({ transaction, tenantId }) => {
        const removed = await transaction.query(
          transaction
            .knex('tenant_sign_in')
            .where({ tenant_id: tenantId })
            .delete()
            .returning('tenant_id'),
        );
        if (removed.length === 0) {
          throw new NotFoundError(
            `The tenant '${tenantSlug}' has no sign-in of its own`,
          );
        }
      },
      options,
    );
  }

  /** One statement in each case, so that response times do not reveal what is missing. */
  async #read(tenantSlug: string): Promise<Row | undefined> {
    if (!isTenantSlug(tenantSlug)) {
      return undefined;
    }
    const [row] = await this.options.pool.query<Row>(knex =>
      knex('tenant_sign_in as s')
        .join('tenants as t', 't.tenant_id', 's.tenant_id')
        .select('s.tenant_id', 's.provider', 's.updated_by', 's.updated_at')
        .where('t.tenant_slug', tenantSlug)
        .whereNull('t.deleted_at'),
    );
    return row;
  }
}

function toSignIn(
  provider: PutTenantSignIn,
  { updated_by, updated_at }: Pick<Row, 'updated_by' | 'updated_at'>,
): TenantSignIn {
  return { ...provider, updated_by, updated_at: updated_at.toISOString() };
}
