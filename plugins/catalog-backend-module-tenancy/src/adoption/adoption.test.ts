import {
  coreServices,
  createServiceFactory,
} from '@backstage/backend-plugin-api';
import { mockServices } from '@backstage/backend-test-utils';
import type { TestDatabaseId } from '@internal/postgres/testUtils';
import { type Entity, stringifyEntityRef } from '@backstage/catalog-model';
import {
  createTestDatabases,
  waitUntil,
  withClient,
} from '@internal/postgres/testUtils';
import {
  adopt,
  migrateTo,
  readAdoption,
} from 'backstage-catalog-tenancy-migrations';
import type { ClientConfig } from 'pg';
import { createEmptyDatabase } from '@internal/catalog-testing/emptyDatabase';
import { component } from '@internal/catalog-testing/entities';
import { sampleEntities } from '@internal/catalog-testing/sampleEntities';
import {
  type CatalogBackend,
  startCatalogBackend,
} from '@internal/catalog-testing/startCatalogBackend';
import { entityProvider, settled } from '@internal/catalog-testing/stockEngine';
import { createTenancyDatabase } from '@internal/catalog-testing/tenancyDatabase';

const databases = createTestDatabases();
const newest = databases.eachSupportedId().slice(-1);

const SAMPLES = sampleEntities();

/** A backend whose engine ingests the samples, and what it logs. */
async function start(
  connection: ClientConfig,
  options: { enabled?: boolean; entities?: Entity[] } = {},
) {
  const { enabled = true, entities = SAMPLES } = options;
  const logger = mockServices.rootLogger.mock();
  logger.child.mockReturnValue(logger);
  const backend = await startCatalogBackend({
    connection,
    enabled,
    config: {
      catalog: {
        processingInterval: { hours: 1 },
        // Some backends of a test have no entity provider.
        orphanProviderStrategy: 'keep',
      },
    },
    features: [
      ...(entities.length > 0 ? [entityProvider(entities)] : []),
      createServiceFactory({
        service: coreServices.rootLogger,
        deps: {},
        factory: () => logger,
      }),
    ],
  });
  const logged = (level: 'info' | 'warn' | 'error') =>
    logger[level].mock.calls.map(([message]) => message).join('\n');
  return { backend, logged };
}

async function listed(backend: CatalogBackend, slug = 'default') {
  const { body, status } = await backend.as(slug).get('/entities');
  return status === 200 ? (body as Entity[]) : [];
}

const ingested = (backend: CatalogBackend) =>
  settled(() => listed(backend), SAMPLES.length);

/**
 * Polls until the answer has a status: a start waits for the adoption for some seconds only, and
 * the default tenant is answered with 503 as long as that takes.
 */
async function answered(
  backend: CatalogBackend,
  path: string,
  status: number,
): Promise<void> {
  await waitUntil(
    `status ${status}`,
    async () => (await backend.as('default').get(path)).status === status,
  );
}

const schemasOf = (connection: ClientConfig) =>
  withClient(connection, async client => {
    const { rows } = await client.query(
      `select nspname from pg_namespace where nspname = 'tenancy'`,
    );
    return rows.length;
  });

// startTenancy.test.ts sets up an empty database on each version, and the tests of `adopt` run
// there what carries entities.
describe.each(newest)('on an empty database on %s', id => {
  let connection: ClientConfig;

  beforeAll(async () => {
    connection = await createEmptyDatabase(databases, id);
  });

  it('sets up the tables of tenants, and serves what the engine ingests', async () => {
    const { backend, logged } = await start(connection);
    const entities = await ingested(backend);
    expect(entities.map(stringifyEntityRef).sort()).toEqual(
      SAMPLES.map(stringifyEntityRef).sort(),
    );
    expect(logged('info')).toContain('The catalog is adopted');
    await backend.createTenant('acme', [component('a')]);
    expect(await listed(backend, 'acme')).toHaveLength(1);
    await expect(readAdoption({ connection })).resolves.toMatchObject({
      adopted: true,
      engineEntities: SAMPLES.length,
      faults: 0,
    });
    await backend.stop();
  });

  it('shows what the engine has changed while the flag was off', async () => {
    const off = await start(connection, {
      enabled: false,
      entities: SAMPLES.slice(1),
    });
    await waitUntil(
      'the engine to delete an entity',
      async () => (await listed(off.backend)).length === SAMPLES.length - 1,
    );
    await off.backend.stop();

    const { backend } = await start(connection, { entities: [] });
    expect(await listed(backend)).toHaveLength(SAMPLES.length - 1);
    await backend.stop();
  });
});

// Nothing of this depends on the version of the database.
describe.each(databases.eachSupportedId())(
  'as a login that is no superuser on %s',
  id => {
    it('adopts the catalog with what one has granted for the tables of tenants', async () => {
      const empty = await createEmptyDatabase(databases, id);
      const user = `adoption_${process.pid}_${id.toLowerCase()}`;
      const connection = { ...empty, user, password: 'only-for-tests' };
      const run = (statement: string) =>
        withClient(empty, client => client.query(statement));
      await run(`create role ${user} login password 'only-for-tests'`);
      await run(`alter database ${empty.database} owner to ${user}`);
      await run(`grant create on schema public to ${user}`);

      const refusal: Error = await start(connection).catch(error => error);
      for (const statement of refusal.message.match(/^\w.*(?=;$)/gm) ?? []) {
        await run(statement);
      }
      const { backend } = await start(connection);
      expect(await ingested(backend)).toHaveLength(SAMPLES.length);
      await backend.stop();
    });
  },
);

describe.each(newest)('of processes that start at once on %s', id => {
  it('one adopts the catalog, and the others wait for it', async () => {
    const connection = await createEmptyDatabase(databases, id);
    // The migrations of the stock catalog wait for nobody: all but one would fail.
    const first = await start(connection, { enabled: false, entities: [] });
    await first.backend.stop();
    const [one, ...others] = await Promise.all([
      start(connection),
      start(connection, { entities: [] }),
      start(connection, { entities: [] }),
    ]);
    const entities = await ingested(one.backend);
    for (const { backend } of others) {
      await answered(backend, '/entities', 200);
      expect(await listed(backend)).toEqual(entities);
    }
    for (const { backend } of [one, ...others]) {
      await backend.stop();
    }
  });
});

describe.each(newest)('until the adoption is complete on %s', id => {
  it('answers the default tenant with 503 while another operator is at work, and other tenants with their catalogs', async () => {
    const connection = await createTenancyDatabase(databases, id, {
      stockTables: false,
    });
    await withClient(connection, async operator => {
      await operator.query(
        `select pg_advisory_lock(7007, hashtext('tenancy'))`,
      );
      const { backend } = await start(connection);
      await backend.createTenant('acme', [component('a')]);
      expect(await listed(backend, 'acme')).toHaveLength(1);
      for (const path of ['/entities', '//Entities/', '/entities/by-uid/x']) {
        const answer = await backend.as('default').get(path);
        expect(answer.status).toBe(503);
        expect(answer.headers['retry-after']).toMatch(/^\d+$/);
        expect(answer.body.error.message).toMatch(
          /^The catalog of the tenant 'default' .* not complete yet/,
        );
      }
      await operator.query(
        `select pg_advisory_unlock(7007, hashtext('tenancy'))`,
      );
      await answered(backend, '/entities', 200);
      await ingested(backend);
      await backend.stop();
    });
  });

  it('says why it fails, tries again, also after a restart, and succeeds', async () => {
    const connection = await createEmptyDatabase(databases, id);
    const { backend: unused } = await start(connection, {
      enabled: false,
      entities: [],
    });
    await unused.stop();
    await migrateTo(5, { connection, createTables: true, force: true });
    await withClient(connection, client =>
      client.query(
        `create function fail() returns event_trigger language plpgsql as
             $$ begin raise exception 'nobody creates triggers'; end $$;
           create event trigger fail on ddl_command_start
             when tag in ('CREATE TRIGGER') execute function fail()`,
      ),
    );
    const first = await start(connection);
    const { length } = SAMPLES;
    const engineEntities = async () =>
      (await readAdoption({ connection })).engineEntities;
    await waitUntil(
      'the engine to ingest the entities',
      async () => (await engineEntities()) === length,
    );
    expect(first.logged('error')).toMatch(
      /could not be adopted: .*503; .*nobody creates triggers.*next attempt is in 1 s\. "npx backstage-catalog-tenancy-cli adopt"/,
    );
    await answered(first.backend, '/entities', 503);
    await first.backend.stop();

    // By now the catalog looks like any that is in use.
    const { backend } = await start(connection, { entities: [] });
    await answered(backend, '/entities', 503);
    await withClient(connection, client =>
      client.query('drop event trigger fail'),
    );
    await answered(backend, '/entities', 200);
    await ingested(backend);
    await backend.stop();
  });
});

describe.each(newest)('with a catalog that is in use on %s', id => {
  async function stockCatalog(on: TestDatabaseId): Promise<ClientConfig> {
    const connection = await createEmptyDatabase(databases, on);
    const { backend } = await start(connection, { enabled: false });
    await ingested(backend);
    await backend.stop();
    return connection;
  }

  const tenancySchemaAfterRefusal = async (
    connection: ClientConfig,
    refusal: RegExp,
  ) => {
    await expect(start(connection, { entities: [] })).rejects.toThrow(refusal);
    return schemasOf(connection);
  };

  it('refuses to start until it is adopted', async () => {
    const connection = await stockCatalog(id);
    expect(
      await tenancySchemaAfterRefusal(
        connection,
        new RegExp(
          `The catalog has ${SAMPLES.length} entities and is not adopted.*` +
            'Run npx backstage-catalog-tenancy-cli adopt, while',
        ),
      ),
    ).toBe(0);

    await adopt({ connection });
    const { backend } = await start(connection, { entities: [] });
    expect(await listed(backend)).toHaveLength(SAMPLES.length);
    await backend.stop();
  });

  it('refuses to start where the tables of tenants are there, and are not of this catalog', async () => {
    const connection = await stockCatalog(id);
    await migrateTo(5, { connection, createTables: true, force: true });
    await expect(start(connection, { entities: [] })).rejects.toThrow(
      /is not adopted.*Run npx backstage-catalog-tenancy-cli adopt, while/,
    );
    await expect(readAdoption({ connection })).resolves.toMatchObject({
      adopted: false,
    });
  });

  it('has nothing to adopt where the default tenant has entities of another origin', async () => {
    const connection = await createTenancyDatabase(databases, id, {
      stockTables: false,
    });
    await withClient(connection, client =>
      client.query(
        `insert into tenancy.entities (tenant_id, entity_ref, entity_kind, entity_name, final_entity, hash)
           select tenant_id, 'component:default/a', 'component', 'a',
                  '{"kind":"Component","metadata":{"name":"a"}}', ''
             from tenancy.tenants where tenant_slug = 'default'`,
      ),
    );
    const first = await start(connection, { entities: [] });
    await answered(first.backend, '/entities', 200);
    expect(await listed(first.backend)).toHaveLength(1);
    await first.backend.stop();
    await expect(readAdoption({ connection })).resolves.toMatchObject({
      adopted: false,
      engineTables: true,
    });

    const second = await start(connection, { entities: [] });
    await answered(second.backend, '/entities', 200);
    expect(await listed(second.backend)).toHaveLength(1);
    await second.backend.stop();
  });
});
