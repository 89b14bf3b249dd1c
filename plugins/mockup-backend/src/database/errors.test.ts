import { mockServices } from '@backstage/backend-test-utils';
import { createTestDatabases, eventually } from '@internal/postgres/testUtils';
import type { MockupStore } from 'backstage-plugin-mockup-node';
import createKnex from 'knex';
import { withMappedErrors } from './errors';
import { openMockupStores } from './openMockupStores';

const databases = createTestDatabases({ versions: 'newest' });
const logger = mockServices.logger.mock();

const UNAVAILABLE = {
  name: 'ServiceUnavailableError',
  message:
    'The database of the mockup plugin cannot be reached, try again later',
};

describe.each(databases.eachSupportedId())('errors of %s', id => {
  it('become 503 while it takes no writes, as after a failover', async () => {
    const knex = await databases.init(id);
    await knex.schema.createTable('t', table => table.integer('n'));
    const write = () =>
      knex.transaction(async transaction => {
        await transaction.raw('set transaction read only');
        await transaction('t').insert({ n: 1 });
      });
    await expect(withMappedErrors(logger, write)).rejects.toEqual(
      expect.objectContaining(UNAVAILABLE),
    );
  });

  it('become 503 while the pool has no connection to give', async () => {
    const knex = await databases.init(id);
    const small = createKnex({
      client: 'pg',
      connection: knex.client.config.connection,
      pool: { min: 0, max: 1, acquireTimeoutMillis: 100 },
    });
    // To connect may take longer than that.
    await eventually(() => small.raw('select 1'));
    await small.transaction(async () => {
      await expect(
        withMappedErrors(logger, () => small.raw('select 1')),
      ).rejects.toEqual(expect.objectContaining(UNAVAILABLE));
    });
    await small.destroy();
  });

  it('become that of a read-only tenant while `tenant move` refuses its writes', async () => {
    const knex = await databases.init(id);
    const stores = await openMockupStores({
      database: mockServices.database({ knex }),
      logger,
      multiTenant: true,
    });
    const tenantId = '00000000-0000-4000-8000-00000000000a';
    await knex.raw(`
      create function refuse() returns trigger language plpgsql as $$ begin
        raise exception 'moved' using errcode = 'read_only_sql_transaction',
          constraint = 'tenant_moves', detail = 'acme';
      end $$;
      create trigger refuse after insert on mockups
        for each row when (new.tenant_id = '${tenantId}') execute function refuse()`);
    const create = (store: MockupStore) =>
      store.create({ name: 'x' }, { owner: 'user:default/ann' });
    await expect(create(stores.forTenant(tenantId))).rejects.toEqual(
      expect.objectContaining({
        name: 'ServiceUnavailableError',
        message:
          "The tenant 'acme' is read-only while it is moved: try again later",
        retryAfterSeconds: 10,
      }),
    );
    await expect(create(stores.forDefaultTenant())).resolves.toBeDefined();
  });

  it('of our own making stay what they are', async () => {
    const knex = await databases.init(id);
    await expect(
      withMappedErrors(logger, () => knex.raw('select nonsense')),
    ).rejects.toMatchObject({ code: '42703' });
  });
});
