import { Postgres } from '@internal/postgres';
import {
  eventually,
  testedVersions,
  waitUntil,
} from '@internal/postgres/testUtils';
import { Client } from 'pg';
import { openCatalogDatabase } from '../__testUtils__/catalogDatabase';
import type { CatalogDatabase } from '../__testUtils__/catalogDatabase';
import { createCatalogTables, seedCatalog } from '../__testUtils__/seed';
import type { PhaseNumber } from '../engine/Step';
import { findings, preflight } from '../preflight/__testUtils__/preflight';
import { rollback } from '../rollback/rollback';
import { verify } from '../verify/verify';
import { DEFAULT_TENANT_ID, TENANT_TABLES } from './tables';
import { defaultTenantPartition } from './partitions';

// Publishers and subscribers are servers of their own: the statements are run as printed.

const OTHER = '00000000-0000-0000-0000-0000000000aa';

describe.each(testedVersions({ versions: 'every' }))(
  'a published catalog on PostgreSQL %d',
  version => {
    let servers: { publisher: Postgres; subscriber: Postgres };
    let database: CatalogDatabase;
    let subscriber: Client;
    let count = 0;

    beforeAll(async () => {
      const settings = { wal_level: 'logical' };
      const [publisher, other] = await Promise.all([
        Postgres.start({ version, settings }),
        Postgres.start({ version, settings }),
      ]);
      servers = { publisher, subscriber: other };
      await onServer(
        publisher,
        `create role feeder login replication password 'f'`,
      );
    });

    afterAll(async () => {
      await servers.publisher.stop();
      await servers.subscriber.stop();
    });

    beforeEach(async () => {
      count += 1;
      const name = `catalog${count}`;
      await onServer(servers.publisher, `create database ${name}`);
      await onServer(servers.subscriber, `create database ${name}`);
      database = await openCatalogDatabase({
        connectionString: servers.publisher.connectionString(name),
      });
      await seedCatalog(database.client, { entities: 12 });
      await database.client.query(
        `alter table relations replica identity full;
         grant usage on schema tenancy to feeder;
         grant select on all tables in schema tenancy to feeder`,
      );
      subscriber = new Client(servers.subscriber.connectionString(name));
      await subscriber.connect();
      await createCatalogTables(subscriber);
    });

    afterEach(async () => {
      await subscriber.query('drop subscription if exists feed_sub');
      await subscriber.end();
      await database.close();
    });

    async function subscribe(publication: string): Promise<void> {
      const url = new URL(
        servers.publisher.connectionString(`catalog${count}`),
      );
      const { hostname, port, pathname } = url;
      await subscriber.query(
        `create subscription feed_sub connection
           'host=${hostname} port=${port} dbname=${pathname.slice(
          1,
        )} user=feeder password=f'
         publication ${publication}`,
      );
    }

    /** Runs the statements of one heading, one by one as psql does. */
    async function run(
      text: string,
      where: 'publisher' | 'subscriber',
      when: string,
    ): Promise<void> {
      const client = where === 'publisher' ? database.client : subscriber;
      const heading = new RegExp(
        `^ *-- At (the|each) ${where}, ${when}:\\n((?: *[^ -].*\\n?)+)`,
        'm',
      );
      const [, , statements] = heading.exec(text) ?? [];
      expect(statements).toBeDefined();
      for (const statement of statements.trim().split('\n')) {
        await client.query(statement);
      }
    }

    const phase = (number: PhaseNumber) =>
      database.migrate(migration => migration.runPhase(number));

    let written = 0;
    /** Inserts, updates and deletes, also of relations, which have no key. */
    async function write(tenant?: string): Promise<void> {
      written += 1;
      const name = `new-${written}`;
      const [column, value] = tenant
        ? ['tenant_id, ', `'${tenant}', `]
        : ['', ''];
      await database.client.query(`
        with e as (
          insert into entities (${column}entity_ref, entity_kind, entity_name, final_entity, hash)
          values (${value}'component:default/${name}', 'component', '${name}', '{}', 'h')
          returning entity_id)
        , r as (
          insert into relations (${column}originating_entity_id, source_entity_ref, type, target_entity_ref)
          select ${value}entity_id, 'component:default/${name}', 'ownedBy', 'group:default/a' from e)
        insert into refresh_state (${column}entity_id, location_key)
        select ${value}entity_id, 'url:${name}' from e;
        update entities set hash = 'of ${name}' where entity_name ~ '^service-[12]$';
        update relations set weight = ${written} where source_entity_ref ~ 'service-3$';
        update refresh_state set errors = '[${written}]' where location_key ~ 'service-4$';
        delete from entities where entity_name = 'new-${written - 2}'`);
    }

    const rowsOf = async (client: Client, name: string, where = 'true') => {
      const { rows } = await client.query<{ row: string }>(
        `select (to_jsonb(t) - 'tenant_id')::text as row from tenancy.${name} t
          where ${where} order by 1`,
      );
      return rows.map(({ row }) => row);
    };

    async function expectSame(table: string, atSubscriber: string) {
      const rows = await rowsOf(
        database.client,
        table,
        `coalesce(to_jsonb(t) ->> 'tenant_id', '${DEFAULT_TENANT_ID}') = '${DEFAULT_TENANT_ID}'`,
      );
      expect(rows).not.toEqual([]);
      await expect(rowsOf(subscriber, atSubscriber)).resolves.toEqual(rows);
    }

    /** Waits until the subscriber has the default tenant's rows, and no others. */
    async function expectEqual(
      nameAtSubscriber: (table: (typeof TENANT_TABLES)[number]) => string,
    ): Promise<void> {
      for (const table of TENANT_TABLES) {
        await eventually(() => expectSame(table, nameAtSubscriber(table)));
      }
    }

    /** The slot moves on, so that the server need not keep its log. */
    async function expectConfirmed(): Promise<void> {
      const { rows } = await database.client.query(
        'select pg_current_wal_insert_lsn() as lsn',
      );
      await waitUntil('the slot to move on', async () => {
        const { rows: slots } = await database.client.query(
          `select confirmed_flush_lsn >= $1::pg_lsn as confirmed
             from pg_replication_slots where slot_name = 'feed_sub'`,
          [rows[0].lsn],
        );
        return slots[0].confirmed;
      });
    }

    const refusal = async (
      command: () => Promise<unknown>,
    ): Promise<string> => {
      const error = await command().then(
        () => new Error('was not refused'),
        reason => reason,
      );
      expect(error.name).toBe('RefusedError');
      return error.message;
    };

    it('goes all the way and back with the statements as printed', async () => {
      await database.client.query(
        'create publication "Feed" for table entities, relations, refresh_state',
      );
      await subscribe('"Feed"');
      await write();
      await expectEqual(table => table);
      const [found, ...more] = findings(
        await preflight(database),
        'failure',
        'replication',
      );
      expect(more).toEqual([]);
      expect(found.message).toMatch(
        /: Feed \(tenancy.entities, tenancy.relations, tenancy.refresh_state\)\. /,
      );
      await expect(refusal(() => phase(1))).resolves.toContain(
        found.sql!.split('\n')[1],
      );

      await run(found.sql!, 'publisher', 'now');
      await run(found.sql!, 'subscriber', 'now');
      for (const number of [1, 2, 3, 4, 5] as const) {
        await phase(number);
        await write(DEFAULT_TENANT_ID);
      }
      await expectConfirmed();

      await run(found.sql!, 'subscriber', 'after phase 5');
      await run(found.sql!, 'publisher', 'after phase 5');
      await run(found.sql!, 'subscriber', 'at last');
      await expectEqual(defaultTenantPartition);
      await run(found.sql!, 'publisher', 'once the rows are copied');
      await database.client.query(
        `insert into tenants (tenant_id, tenant_slug, tenant_name) values ('${OTHER}', 'acme', 'ACME')`,
      );
      await write(OTHER);
      await write(DEFAULT_TENANT_ID);
      await expectEqual(defaultTenantPartition);
      await expectConfirmed();
      expect(
        findings(await preflight(database), 'failure', 'replication'),
      ).toEqual([]);
      const { checks } = await database.migrate(verify, { mode: 'read' });
      expect(checks.flatMap(({ problems }) => problems)).toEqual([]);

      const back = () => database.migrate(migration => rollback(migration));
      const refused = await refusal(back);
      await run(refused, 'publisher', 'now');
      await run(refused, 'subscriber', 'now');
      await back();
      await write(DEFAULT_TENANT_ID);
      await run(refused, 'subscriber', 'after the rollback');
      await run(refused, 'publisher', 'after the rollback');
      await run(refused, 'subscriber', 'at last');
      await expectEqual(table => table);
      await run(refused, 'publisher', 'once the rows are copied');
      await write(DEFAULT_TENANT_ID);
      await expectEqual(table => table);
      await expectConfirmed();
      await expect(refusal(() => phase(5))).resolves.toMatch(
        /^Phase 5 cannot begin: Publications have .*: Feed \(tenancy\.entities, /,
      );
    });

    it('keeps what a publication FOR ALL TABLES has beside the catalog', async () => {
      await database.client.query(
        `create table notes (id int primary key, note text);
         create publication everything for all tables with (publish = 'insert, delete')`,
      );
      await subscriber.query(
        `create table tenancy.notes (id int primary key, note text)`,
      );
      await database.client.query('grant select on notes to feeder');
      await subscribe('everything');
      await expectEqual(table => table);
      const [found] = findings(
        await preflight(database),
        'failure',
        'replication',
      );
      expect(found.message).toMatch(/: everything \(FOR ALL TABLES\)\. /);
      await run(found.sql!, 'publisher', 'now');
      await database.client.query(`insert into notes values (1, 'a')`);
      await run(found.sql!, 'subscriber', 'now');
      for (const number of [1, 2, 3, 4, 5] as const) {
        await phase(number);
        await database.client.query(
          `insert into notes values (${number + 1}, 'b')`,
        );
      }
      await expectConfirmed();
      await eventually(async () =>
        expect(await rowsOf(subscriber, 'notes')).toHaveLength(6),
      );
      await run(found.sql!, 'subscriber', 'after phase 5');
      await run(found.sql!, 'publisher', 'after phase 5');
      await run(found.sql!, 'subscriber', 'at last');
      await expectEqual(defaultTenantPartition);
      const { rows } = await database.client.query(
        `select pubupdate, pubdelete from pg_publication`,
      );
      expect(rows).toEqual([{ pubupdate: false, pubdelete: true }]);

      await database.client.query('create publication late for all tables');
      const [warned] = findings(
        await preflight(database),
        'warning',
        'replication',
      );
      expect(warned.message).toMatch(/tables of each new tenant: late\./);
    });

    it('is told of slots without a publication, and of those that nothing reads', async () => {
      await database.client.query(
        `select pg_create_logical_replication_slot('cdc', 'test_decoding')`,
      );
      const warnings = async () =>
        findings(await preflight(database), 'warning', 'replication slots');
      const [found, ...more] = await warnings();
      expect(found.details).toEqual([
        'cdc (test_decoding) decodes the tables of every tenant',
        'cdc is not read: the server keeps its log',
      ]);
      expect(more).toEqual([]);
      await database.client.query(found.sql!);
      await expect(warnings()).resolves.toEqual([]);
    });

    if (version >= 15) {
      it('keeps columns, conditions and the other tables of a schema', async () => {
        await database.client.query(
          `create table notes (id int primary key, note text);
           create publication part for table
             entities (entity_id, entity_ref) where (entity_id is not null),
             relations where (type = 'ownedBy');
           create publication whole for tables in schema tenancy`,
        );
        await subscribe('part');
        const [found] = findings(
          await preflight(database),
          'failure',
          'replication',
        );
        await run(found.sql!, 'publisher', 'now');
        for (const number of [1, 2, 3, 4, 5] as const) {
          await phase(number);
        }
        await run(found.sql!, 'publisher', 'after phase 5');
        const { rows } = await database.client.query(
          `select pubname, tablename, attnames::text[], rowfilter from pg_publication_tables order by 1, 2`,
        );
        expect(rows).toEqual([
          {
            pubname: 'part',
            tablename: 'entities_tenant_default',
            attnames: ['entity_id', 'entity_ref', 'tenant_id'],
            rowfilter: '(entity_id IS NOT NULL)',
          },
          {
            pubname: 'part',
            tablename: 'relations_tenant_default',
            attnames: expect.arrayContaining(['weight', 'tenant_id']),
            rowfilter: `(type = 'ownedBy'::text)`,
          },
          ...[
            'entities_tenant_default',
            'notes',
            'refresh_state_tenant_default',
            'relations_tenant_default',
          ].map(tablename =>
            expect.objectContaining({
              pubname: 'whole',
              tablename,
              rowfilter: null,
            }),
          ),
        ]);
        const back = () =>
          database.migrate(migration => rollback(migration, 0));
        const refused = await refusal(back);
        await run(refused, 'publisher', 'now');
        await back();
        await run(refused, 'publisher', 'after the rollback');
        const { rows: again } = await database.client.query(
          `select tablename, attnames::text[] from pg_publication_tables where pubname = 'part' order by 1`,
        );
        expect(again[0]).toEqual({
          tablename: 'entities',
          attnames: ['entity_id', 'entity_ref'],
        });
      });
    }
  },
);

async function onServer(server: Postgres, statement: string): Promise<void> {
  const client = new Client(server.connectionString());
  await client.connect();
  await client.query(statement);
  await client.end();
}
