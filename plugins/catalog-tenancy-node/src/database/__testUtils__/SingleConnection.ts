import type {
  TestDatabaseId,
  TestDatabases,
} from '@internal/postgres/testUtils';
import { createTenancyDatabase } from '../../__testUtils__/tenancyDatabase';
import type { TenancyDatabase } from '../../__testUtils__/tenancyDatabase';
import { PooledTenantDatabase } from '../PooledTenantDatabase';
import type { TenantTransaction } from '../TenantDatabase';
import { entityRow, insertRows } from './entityRow';
import { PoolWatch } from './PoolWatch';

/** A tenant of its own for each test, on a pool of one connection. */
export class SingleConnection {
  readonly watch = PoolWatch.start();
  readonly tenants: PooledTenantDatabase;
  tenant = '';

  static async create(
    databases: TestDatabases,
    id: TestDatabaseId,
  ): Promise<SingleConnection> {
    return new SingleConnection(await createTenancyDatabase(databases, id));
  }

  private constructor(readonly database: TenancyDatabase) {
    this.tenants = new PooledTenantDatabase(
      database.createPool({ limits: { max: 1 } }),
    );
  }

  /** Begins a test. */
  async reset(): Promise<void> {
    this.tenant = await this.database.createTenant();
    await this.watch.answered();
    this.watch.givenBack.length = 0;
    this.watch.closed = 0;
  }

  async close(): Promise<void> {
    this.watch.stop();
    await this.database.close();
  }

  /** What is there of the tenant, by the word of a superuser. */
  async names(): Promise<string[]> {
    const { rows } = await this.database.client.query(
      'select entity_name from entities where tenant_id = $1 order by 1',
      [this.tenant],
    );
    return rows.map(row => row.entity_name);
  }

  /**
   * What is wrong with the connection, which the next one gets now: nothing, unless
   * it was given back in a transaction, with a tenant or with a role.
   */
  async doubts(): Promise<unknown[]> {
    const { tenant, tenants, watch } = this;
    const seen = await tenants.query<{ tenant: string }>(tenant, ({ knex }) =>
      knex.raw(`select current_setting('app.tenant_id') as tenant`),
    );
    await watch.answered();
    if (watch.givenBack.length === 0) {
      throw new Error('No connection was given back');
    }
    return [
      ...seen.filter(row => row.tenant !== tenant),
      ...watch.givenBack.filter(
        ({ status, tenant: left, role }) =>
          status !== 'I' || left !== '' || role !== 'none',
      ),
    ];
  }
}

export function insert(
  transaction: TenantTransaction,
  name: string,
): Promise<object[]> {
  return transaction.query(insertRows(transaction, [entityRow(name)]));
}

export function fail(transaction: TenantTransaction): Promise<object[]> {
  return transaction.query(transaction.knex.raw('select 1 / 0'));
}
