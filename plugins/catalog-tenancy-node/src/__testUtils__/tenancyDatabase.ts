import type {
  DatabaseTemplate,
  TestDatabaseId,
  TestDatabases,
} from '@internal/postgres/testUtils';
import { distribute, migrateTo } from 'backstage-catalog-tenancy-migrations';
import { Client, type ClientConfig, DatabaseError } from 'pg';
import { TenancyPool } from '../pool/TenancyPool';
import type { TenantLimits } from '../pool/TenantLimits';
import type {
  OperationLimits,
  TenancyPoolLimits,
} from '../config/readTenancyConfig';
import { mockLogger } from './serviceMocks';

const SCHEMA = 'tenancy';
const APP_ROLE = 'portal_app';
const PASSWORD = 'only-for-tests';

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

const MIGRATED: DatabaseTemplate = {
  name: 'catalogs of tenants, empty',
  prepare: async (connection, id) => {
    await migrateTo(5, {
      connection,
      schema: SCHEMA,
      createTables: true,
      // Their triggers would follow the distributed tables.
      keepOldTables: id !== 'CITUS',
    });
  },
};

/** The same, on the nodes of Citus. */
const DISTRIBUTED: DatabaseTemplate = {
  name: `${MIGRATED.name}, on nodes`,
  prepare: async (connection, id) => {
    await MIGRATED.prepare(connection, id);
    await distribute({ connection, schema: SCHEMA });
  },
};

let tenants = 0;

/**
 * A migrated database on the server `id`.
 *
 * @param options - `distributed`: false for one that Citus is to distribute later
 */
export async function createTenancyDatabase(
  databases: TestDatabases,
  id: TestDatabaseId,
  { distributed = id === 'CITUS' }: { distributed?: boolean } = {},
): Promise<TenancyDatabase> {
  const connection = await databases.create(
    id,
    distributed ? DISTRIBUTED : MIGRATED,
  );
  const client = new Client(connection);
  await client.connect();
  await client.query(`set search_path = ${SCHEMA}`);
  await changeRole(client, `alter role ${APP_ROLE} password '${PASSWORD}'`);
  if (distributed) {
    // A test of another file may have undone a distribution, which takes it from all databases.
    await changeRole(client, 'alter role portal_admin login');
  }
  const appConnection = { ...connection, user: APP_ROLE, password: PASSWORD };
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

/**
 * Runs a statement about roles, again where another test file is at the same ones:
 * they belong to the server.
 */
export async function changeRole(
  client: Client,
  statement: string,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await client.query(statement);
      return;
    } catch (error) {
      const concurrent =
        error instanceof DatabaseError && error.code === 'XX000';
      if (!concurrent || attempt === 20) {
        throw error;
      }
    }
  }
}
