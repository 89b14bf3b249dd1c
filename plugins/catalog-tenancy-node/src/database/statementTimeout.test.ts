import { createTestDatabases } from '@internal/postgres/testUtils';
import {
  createTenancyDatabase,
  type TenancyDatabase,
} from '../__testUtils__/tenancyDatabase';
import { DatabaseTimeoutError } from '../pool/errors';
import { PooledTenantDatabase } from './PooledTenantDatabase';

const databases = createTestDatabases({ versions: 'newest' });

describe.each(databases.eachSupportedId())('A statement on %s', id => {
  let database: TenancyDatabase;
  let tenant: string;
  let tenants: PooledTenantDatabase;

  beforeAll(async () => {
    database = await createTenancyDatabase(databases, id);
    tenant = await database.createTenant();
    tenants = new PooledTenantDatabase(
      database.createPool({ limits: { max: 1, statementTimeoutMs: 100 } }),
    );
  });

  afterAll(() => database.close());

  const sleep = () =>
    tenants.query(tenant, ({ knex }) => knex.raw('select pg_sleep(600)'));

  it('is stopped when it takes too long, and its connection is used again', async () => {
    const backend = () =>
      tenants.query(tenant, ({ knex }) =>
        knex.raw('select pg_backend_pid() as pid'),
      );
    const before = await backend();
    await expect(sleep()).rejects.toBeInstanceOf(DatabaseTimeoutError);
    await expect(backend()).resolves.toEqual(before);
  });

  it('may take as long as it needs in a transaction, which writes', async () => {
    await expect(
      tenants.transaction(tenant, async transaction =>
        transaction.query(
          transaction.knex.raw(
            `select current_setting('statement_timeout') as timeout`,
          ),
        ),
      ),
    ).resolves.toEqual([{ timeout: '0' }]);
  });

  it('has the timeout of the database user, where it has one', async () => {
    const impatient = database.createPool({
      connection: { ...database.appConnection, statement_timeout: 777 },
    });
    await expect(
      impatient.query(knex =>
        knex.raw(`select current_setting('statement_timeout') as timeout`),
      ),
    ).resolves.toEqual([{ timeout: '777ms' }]);
  });
});
