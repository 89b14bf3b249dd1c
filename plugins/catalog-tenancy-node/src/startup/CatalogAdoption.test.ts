import { mockServices } from '@backstage/backend-test-utils';
import { createTestDatabases } from '@internal/postgres/testUtils';
import {
  attachEngine,
  engineSchemaOf,
  migrateTo,
  readAdoptedTenants,
} from 'backstage-catalog-tenancy-migrations';
import { Client } from 'pg';
import { BackendAdoption } from './CatalogAdoption';

const databases = createTestDatabases();

const ACME = '11111111-1111-4111-8111-111111111111';
const INITECH = '22222222-2222-4222-8222-222222222222';

/** The columns of an engine's tables that are carried, and an empty engine of a tenant. */
const ENGINE = (schema: string) => `
  create schema ${schema};
  create table ${schema}.refresh_state (
    entity_id text primary key, unprocessed_entity text, location_key text, errors text);
  create table ${schema}.final_entities (
    entity_id text primary key, entity_ref text, final_entity text, hash text,
    last_updated_at timestamptz);
  create table ${schema}.relations (
    originating_entity_id text, source_entity_ref text, type text, target_entity_ref text);
  create table ${schema}.refresh_state_references (
    id bigint, source_entity_ref text, target_entity_ref text)`;

describe.each(databases.eachSupportedId().slice(-1))(
  'the retries of a backend on %s',
  id => {
    let client: Client;
    afterEach(() => client.end());

    async function setUp() {
      const connection = await databases.create(id);
      await migrateTo(5, { connection, createTables: true });
      client = new Client(connection);
      await client.connect();
      await client.query('set search_path = tenancy');
      for (const [tenantId, slug] of [
        [ACME, 'acme'],
        [INITECH, 'initech'],
      ]) {
        const catalogSchema = engineSchemaOf(tenantId);
        await client.query(
          `insert into tenants (tenant_id, tenant_slug, tenant_name) values ($1, $2, $2)`,
          [tenantId, slug],
        );
        await client.query(
          [
            'begin',
            ENGINE(catalogSchema),
            ...attachEngine({ schema: 'tenancy', tenantId, catalogSchema }),
            'commit',
          ].join(';\n'),
        );
      }
      // What is in the way for a while.
      await client.query(
        'alter table entities add constraint no check (false) not valid',
      );
      for (const tenantId of [ACME, INITECH]) {
        await client.query(
          `insert into ${engineSchemaOf(
            tenantId,
          )}.final_entities values (gen_random_uuid(), 'component:default/a', '{}', 'h', now())`,
        );
      }
      await client.query('alter table entities drop constraint no');
      const logger = mockServices.logger.mock();
      const database = { connection, schema: 'tenancy' };
      return {
        logger,
        adoption: new BackendAdoption({ database, logger, isComplete: true }),
        faults: async () =>
          Object.fromEntries(
            (await readAdoptedTenants(database)).map(({ slug, faults }) => [
              slug,
              faults,
            ]),
          ),
      };
    }

    it('carry what each tenant lacks, though the default one has no engine', async () => {
      const { logger, adoption, faults } = await setUp();
      expect(await faults()).toEqual({ acme: 1, initech: 1 });
      await adoption.retryFaults();
      expect(await faults()).toEqual({ acme: 0, initech: 0 });
      expect(logger.info.mock.calls.flat()).toEqual([
        expect.stringMatching(/^1 of 1 rows .* the tenant "acme" are there/),
        expect.stringMatching(/^1 of 1 rows .* the tenant "initech" are there/),
      ]);
    });

    it('skip a tenant whose tables are gone', async () => {
      const { adoption, faults } = await setUp();
      await client.query(`drop schema ${engineSchemaOf(ACME)} cascade`);
      await adoption.retryFaults();
      expect(await faults()).toEqual({ acme: 1, initech: 0 });
    });

    it('go on with the next tenant where one of them fails', async () => {
      const { adoption, faults } = await setUp();
      await client.query(
        `alter table ${engineSchemaOf(ACME)}.final_entities drop column hash`,
      );
      await expect(adoption.retryFaults()).rejects.toThrow('hash');
      expect(await faults()).toEqual({ acme: 1, initech: 0 });
    });
  },
);
