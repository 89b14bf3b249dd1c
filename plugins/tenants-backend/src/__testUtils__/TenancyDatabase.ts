import { mockServices } from '@backstage/backend-test-utils';
import {
  APPLICATION,
  createTenancyDatabase,
} from '@internal/catalog-testing/tenancyDatabase';
import type {
  DatabaseTemplate,
  TestDatabaseId,
  TestDatabases,
} from '@internal/postgres/testUtils';
import { migrateTo } from 'backstage-catalog-tenancy-migrations';
import { TenancyPool } from 'backstage-plugin-catalog-tenancy-node';
import { Client, type ClientConfig } from 'pg';

const DEFAULT_TENANT_ID = '00000000-0000-0000-0000-000000000001';

/** The registry alone, as phase 1 leaves it. */
const AFTER_PHASE_1: DatabaseTemplate = {
  name: 'tables of tenants, empty, after phase 1',
  prepare: async connection => {
    await migrateTo(1, { connection, createTables: true });
  },
};

/** A database of tenants, and a pool of `portal_app` on it. */
export class TenancyDatabase {
  readonly #pools: TenancyPool[] = [];

  /** @param phase - up to which it is migrated; 0 for not at all */
  static async create(
    databases: TestDatabases,
    id: TestDatabaseId,
    phase: 0 | 1 | 5 = 5,
  ): Promise<TenancyDatabase> {
    const connection =
      phase === 5
        ? await createTenancyDatabase(databases, id, { stockTables: false })
        : await databases.create(id, phase === 1 ? AFTER_PHASE_1 : undefined);
    const client = new Client(connection);
    await client.connect();
    await client.query('set search_path = tenancy');
    return new TenancyDatabase(connection, client);
  }

  private constructor(
    /** Of a superuser. */
    readonly connection: ClientConfig,
    /** The superuser's, in the schema. */
    readonly client: Client,
  ) {}

  /** Another pool, closed with the database. */
  createPool(
    options: { login?: ClientConfig; max?: number; timeoutMs?: number } = {},
  ): TenancyPool {
    const login = options.login ?? APPLICATION;
    const pool = TenancyPool.create({
      connection: { ...this.connection, ...login },
      schema: 'tenancy',
      pool: {
        max: options.max ?? 5,
        idleTimeoutMs: 30_000,
        connectionTimeoutMs: options.timeoutMs ?? 10_000,
      },
      logger: mockServices.logger.mock(),
    });
    this.#pools.push(pool);
    return pool;
  }

  /** Leaves the default tenant alone. */
  async empty(): Promise<void> {
    await this.client.query('delete from tenants where tenant_id <> $1', [
      DEFAULT_TENANT_ID,
    ]);
  }

  /**
   * Leaves, beside the default tenant, the tenants `acme`, `globex` and `gone`, which is deleted.
   *
   * @param members - the roles in a tenant by principal, by the slug of the tenant
   */
  async fill(
    members: Record<string, Record<string, string>> = {},
  ): Promise<void> {
    await this.empty();
    await this.client.query(
      `insert into tenants (tenant_slug, tenant_name, deleted_at)
       values ('acme', 'Acme', null), ('globex', 'Globex', null), ('gone', 'Gone', now())`,
    );
    await this.client.query(
      `insert into tenant_members (tenant_id, principal, role, created_by)
       select tenant_id, principal, role, 'test'
         from jsonb_each($1) of_tenant (slug, roles), jsonb_each_text(roles) m (principal, role),
              tenants
        where tenant_slug = slug`,
      [JSON.stringify(members)],
    );
  }

  async close(): Promise<void> {
    await Promise.all(this.#pools.map(pool => pool.close()));
    await this.client.end();
  }
}
