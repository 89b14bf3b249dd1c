import { mockServices } from '@backstage/backend-test-utils';
import type {
  DatabaseTemplate,
  TestDatabaseId,
  TestDatabases,
} from '@internal/postgres/testUtils';
import { migrateTo } from 'backstage-catalog-tenancy-migrations';
import { TenancyPool } from 'backstage-plugin-catalog-tenancy-node';
import { Client, type ClientConfig, DatabaseError } from 'pg';

const DEFAULT_TENANT_ID = '00000000-0000-0000-0000-000000000001';
const APP_ROLE = 'portal_app';
const PASSWORD = 'only-for-tests';

function migratedTo(phase: 1 | 5): DatabaseTemplate {
  return {
    name: `tables of tenants, empty, after phase ${phase}`,
    prepare: async connection => {
      await migrateTo(phase, { connection, createTables: true });
    },
  };
}

/** A database of tenants, and a pool of `portal_app` on it. */
export class TenancyDatabase {
  readonly #pools: TenancyPool[] = [];

  /** @param phase - up to which it is migrated; 0 for not at all */
  static async create(
    databases: TestDatabases,
    id: TestDatabaseId,
    phase: 0 | 1 | 5 = 5,
  ): Promise<TenancyDatabase> {
    const connection = await databases.create(
      id,
      phase === 0 ? undefined : migratedTo(phase),
    );
    const client = new Client(connection);
    await client.connect();
    await client.query('set search_path = tenancy');
    if (phase === 5) {
      await setPassword(client);
    }
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
    const login = options.login ?? { user: APP_ROLE, password: PASSWORD };
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

  async close(): Promise<void> {
    await Promise.all(this.#pools.map(pool => pool.close()));
    await this.client.end();
  }
}

/** Retries, because another test file may change the same role of the server. */
async function setPassword(client: Client): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await client.query(`alter role ${APP_ROLE} password '${PASSWORD}'`);
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
