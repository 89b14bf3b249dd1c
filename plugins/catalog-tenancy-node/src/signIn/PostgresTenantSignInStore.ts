import { ConflictError, NotFoundError } from '@backstage/errors';
import type {
  PutTenantSignIn,
  TenantSignIn,
} from 'backstage-plugin-tenants-common';
import type { Knex } from 'knex';
import type {
  AdminDatabase,
  AdminTransaction,
} from '../database/AdminDatabase';
import type { TenancyPool } from '../pool/TenancyPool';
import { isTenantSlug } from '../tenants/Tenant';
import type { ActiveTenant } from '../tenants/TenantDirectory';
import { parsePutTenantSignIn } from './input';
import type { TenantSignInStore } from './TenantSignIns';

/** Namespaces of users whom somebody else signs in: the identity catalog, and guests. */
const RESERVED = ['default', 'development'];

interface Row {
  tenant_id: string;
  provider: PutTenantSignIn | null;
  updated_by: string;
  updated_at: Date;
}

/**
 * {@link TenantSignInStore} on PostgreSQL. Nothing is cached: people sign in, and go on with a
 * session, far less often than they call.
 *
 * A change locks the tenant's row until the commit (NO KEY UPDATE, for which no writer of the
 * tenant's rows waits), so that the tenant is not deleted meanwhile.
 *
 * @public
 */
export class PostgresTenantSignInStore implements TenantSignInStore {
  readonly #pool: TenancyPool;
  readonly #admin: AdminDatabase;

  constructor(options: { pool: TenancyPool; admin: AdminDatabase }) {
    this.#pool = options.pool;
    this.#admin = options.admin;
  }

  /** {@inheritDoc TenantSignInStore.get} */
  async get(tenantSlug: string): Promise<TenantSignIn | undefined> {
    const row = await this.#read(tenantSlug);
    if (!row) {
      throw missingTenant(tenantSlug);
    }
    return row.provider ? toSignIn(row.provider, row) : undefined;
  }

  /** {@inheritDoc TenantSignInStore.find} */
  async find(
    tenantSlug: string,
  ): Promise<{ tenant: ActiveTenant; provider: PutTenantSignIn } | undefined> {
    const row = await this.#read(tenantSlug);
    return row?.provider && !RESERVED.includes(tenantSlug)
      ? {
          tenant: { tenantId: row.tenant_id, tenantSlug },
          provider: row.provider,
        }
      : undefined;
  }

  /** {@inheritDoc TenantSignInStore.put} */
  async put(
    tenantSlug: string,
    request: PutTenantSignIn,
    { by }: { by: string },
  ): Promise<TenantSignIn> {
    const provider = parsePutTenantSignIn(request);
    if (RESERVED.includes(tenantSlug)) {
      throw new ConflictError(
        `The tenant '${tenantSlug}' can have no sign-in of its own: users of the portal are called user:${tenantSlug}/<name>`,
      );
    }
    return this.#change('put a sign-in', tenantSlug, async change => {
      const { transaction, tenant_id } = change;
      const { knex } = transaction;
      const [row] = await transaction.query<Row>(
        knex('tenant_sign_in')
          .insert({
            tenant_id,
            provider: JSON.stringify(provider),
            updated_by: by,
            updated_at: knex.fn.now(),
          })
          .onConflict('tenant_id')
          .merge()
          .returning(['updated_by', 'updated_at']),
      );
      return toSignIn(provider, row);
    });
  }

  /** {@inheritDoc TenantSignInStore.remove} */
  async remove(tenantSlug: string): Promise<void> {
    await this.#change('remove a sign-in', tenantSlug, async change => {
      const { transaction, tenant_id } = change;
      const removed = await transaction.query(
        transaction
          .knex('tenant_sign_in')
          .where({ tenant_id })
          .delete()
          .returning('tenant_id'),
      );
      if (removed.length === 0) {
        throw new NotFoundError(
          `The tenant '${tenantSlug}' has no sign-in of its own`,
        );
      }
    });
  }

  async #read(tenantSlug: string): Promise<Row | undefined> {
    if (!isTenantSlug(tenantSlug)) {
      return undefined;
    }
    const [row] = await this.#pool.query<Row>(knex =>
      selectActive(knex, tenantSlug)
        .leftJoin('tenant_sign_in as s', 's.tenant_id', 't.tenant_id')
        .select('s.provider', 's.updated_by', 's.updated_at'),
    );
    return row;
  }

  #change<T>(
    reason: string,
    tenantSlug: string,
    work: (change: {
      transaction: AdminTransaction;
      tenant_id: string;
    }) => Promise<T>,
  ): Promise<T> {
    return this.#admin.run(reason, async transaction => {
      const [row] = isTenantSlug(tenantSlug)
        ? await transaction.query<Pick<Row, 'tenant_id'>>(
            selectActive(transaction.knex, tenantSlug).forNoKeyUpdate(),
          )
        : [];
      if (!row) {
        throw missingTenant(tenantSlug);
      }
      return work({ transaction, tenant_id: row.tenant_id });
    });
  }
}

function selectActive(knex: Knex, tenantSlug: string) {
  return knex('tenants as t')
    .select('t.tenant_id')
    .where('t.tenant_slug', tenantSlug)
    .whereNull('t.deleted_at');
}

function missingTenant(tenantSlug: string): NotFoundError {
  return new NotFoundError(`No active tenant with the slug '${tenantSlug}'`);
}

function toSignIn(
  provider: PutTenantSignIn,
  { updated_by, updated_at }: Pick<Row, 'updated_by' | 'updated_at'>,
): TenantSignIn {
  return { ...provider, updated_by, updated_at: updated_at.toISOString() };
}
