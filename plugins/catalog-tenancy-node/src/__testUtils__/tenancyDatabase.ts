import {
  APPLICATION,
  createTenancyDatabase as createMigratedDatabase,
} from '@internal/catalog-testing/tenancyDatabase';
import type {
  TestDatabaseId,
  TestDatabases,
} from '@internal/postgres/testUtils';
import { Client, type ClientConfig } from 'pg';
import { TenancyPool } from '../pool/TenancyPool';
import type { TenantLimits } from '../pool/TenantLimits';
import type {
  OperationLimits,
  TenancyPoolLimits,
} from '../config/readTenancyConfig';
import { mockLogger } from './serviceMocks';

const SCHEMA = 'tenancy';

/** A migrated database without entities, and its only tenant the default one. */
export interface TenancyDatabase {
  /** Of a superuser. */
  connection: ClientConfig;
  /** Of `portal_app`, as whom the application connects. */
  appConnection: ClientConfig;
  pool: TenancyPool;
  /** The superuser's, in the schema. Row-level security does not bind it. */
  client: Client;
  /** Inserts a tenant and returns its id. */
  createTenant(slug?: string): Promise<string>;
  /** Another pool of `portal_app`, closed with the database. */
  createPool(options?: {
    connection?: ClientConfig;
    schema?: string;
    limits?: Partial<TenancyPoolLimits>;
    whenReady?: boolean;
    /** Of each tenant; without them, one may use the whole pool. */
    operations?: Partial<OperationLimits>;
    /** Of single tenants. */
    tenantLimits?: TenantLimits;
  }): TenancyPool;
  close(): Promise<void>;
}

let tenants = 0;

/**
 * A migrated database on the server `id`.
 *
 * @param options - `distributed`: false for one that Citus is to distribute later
 */
export async function createTenancyDatabase(
  databases: TestDatabases,
  id: TestDatabaseId,
  { distributed }: { distributed?: boolean } = {},
): Promise<TenancyDatabase> {
  const connection = await createMigratedDatabase(databases, id, {
    stockTables: false,
    distributed,
  });
  const client = new Client(connection);
  await client.connect();
  await client.query(`set search_path = ${SCHEMA}`);
  const appConnection = { ...connection, ...APPLICATION };
  const pools: TenancyPool[] = [];
  const createPool: TenancyDatabase['createPool'] = (options = {}) => {
    const limits = {
      max: 10,
      idleTimeoutMs: 30_000,
      connectionTimeoutMs: 120_000,
      ...options.limits,
    };
    const pool = TenancyPool.create({
      connection: options.connection ?? appConnection,
      schema: options.schema ?? SCHEMA,
      pool: limits,
      limits: {
        concurrency: limits.max,
        concurrencyBesideOthers: options.operations?.concurrency ?? limits.max,
        queue: 10_000,
        queueTimeoutMs: 120_000,
        ...options.operations,
      },
      tenantLimits: options.tenantLimits,
      whenReady: options.whenReady,
      logger: mockLogger(),
    });
    pools.push(pool);
    return pool;
  };
  return {
    connection,
    appConnection,
    pool: createPool(),
    client,
    createPool,
    async createTenant(slug) {
      tenants += 1;
      const name = slug ?? `tenant-${process.pid}-${tenants}`;
      const { rows } = await client.query<{ tenant_id: string }>(
        `insert into tenants (tenant_slug, tenant_name) values ($1, $1)
         returning tenant_id`,
        [name],
      );
      return rows[0].tenant_id;
    },
    async close() {
      await Promise.all(pools.map(pool => pool.close()));
      await client.end();
    },
  };
}
