import { engineSchemaOf } from 'backstage-catalog-tenancy-migrations';
import {
  createTestDatabases,
  waitUntil,
  withClient,
  withDeadline,
} from '@internal/postgres/testUtils';
import { randomUUID } from 'node:crypto';
import { Breaking } from './__testUtils__/breakingStream';
import { EngineDatabase, UPSTREAM } from './__testUtils__/EngineDatabase';
import { inventory, structure } from './__testUtils__/inventory';
import {
  migrationsFolder,
  UPSTREAM_NAMES,
} from './__testUtils__/migrationsFolder';

jest.setTimeout(600_000);

const databases = createTestDatabases({ versions: 'every' });

const SEARCH_INDICES = '20260510000000_search_indices_and_dedup.js';

const EXPECTED = [
  'search_entity_key_value_idx',
  'search_facets_covering_idx',
  'search_key_value_entity_idx',
];

/** With what each does, and whether it fires. */
async function adoptionTriggersOf(
  database: EngineDatabase,
  schema: string,
): Promise<object[]> {
  return database.query(
    `select c.relname as table, t.tgname as name, t.tgenabled as enabled, pg_get_triggerdef(t.oid) as definition
       from pg_trigger t join pg_class c on c.oid = t.tgrelid
      where c.relnamespace = $1::regnamespace and starts_with(t.tgname, 'tenancy_adoption')
      order by 1, 2`,
    [schema],
  );
}

async function searchIndexes(
  database: EngineDatabase,
  schema: string,
): Promise<string[]> {
  const rows = await database.query<{ name: string }>(
    `select indexname as name from pg_indexes
      where schemaname = $1 and indexname = any ($2) order by 1`,
    [schema, EXPECTED],
  );
  return rows.map(({ name }) => name);
}

/** What a transaction that is rolled back leaves as it was. */
async function restorable(database: EngineDatabase, schema: string) {
  const { sequences: _, ...rest } = await inventory(database, schema);
  return rest;
}

describe.each(databases.eachSupportedId())(
  'the migrations of upstream, %p',
  id => {
    const create = () => EngineDatabase.create(databases, id);

    describe.each([1, 2])('beside %i schemas that have the newest', count => {
      async function besideOthers(): Promise<EngineDatabase> {
        const database = await create();
        for (let nr = 0; nr < count; nr += 1) {
          await database.tables().provision(randomUUID());
        }
        return database;
      }

      it.each([
        ['from the first', UPSTREAM_NAMES[0]],
        ['from an older one', SEARCH_INDICES],
      ])('make of it what they make alone, %s', async (_title, before) => {
        const database = await besideOthers();
        await database.migrateStock('stock', { before });
        await database.tables().protectDefaultCatalog({ schema: 'stock' });
        expect(await searchIndexes(database, 'stock')).toEqual(EXPECTED);
        const alone = await create();
        await alone.migrateStock('stock');
        expect(await structure(database, 'stock')).toEqual(
          await structure(alone, 'stock'),
        );
        // The stock plugin finds nothing to do.
        await database.asPlugin('stock', async knex => {
          const [, done] = await knex.migrate.latest({ directory: UPSTREAM });
          expect(done).toEqual([]);
        });
      });
    });

    it('leave a default catalog alone that is current, or whose migrations are skipped', async () => {
      const database = await create();
      await database.migrateStock('stock', { before: SEARCH_INDICES });
      const before = await inventory(database, 'stock');
      const tables = database.tables();
      await tables.protectDefaultCatalog({
        schema: 'stock',
        migrations: { skip: true },
      });
      expect(await inventory(database, 'stock')).toEqual(before);
      await tables.protectDefaultCatalog({ schema: 'stock' });
      const current = new Breaking();
      await database
        .tables({ connection: current.connection(database.login) })
        .protectDefaultCatalog({ schema: 'stock' });
      expect(current.statements).toBeGreaterThan(1);
      expect(current.statements).toBeLessThan(10);
    });

    it('of several processes at once bring the default catalog up to date', async () => {
      const database = await create();
      await database.migrateStock('stock', { before: SEARCH_INDICES });
      await Promise.all(
        Array.from({ length: 4 }, () =>
          database.tables().protectDefaultCatalog({ schema: 'stock' }),
        ),
      );
      expect(await searchIndexes(database, 'stock')).toEqual(EXPECTED);
    });

    it('go on from the mark of a process that was killed, and wait for a stock one at work', async () => {
      const database = await create();
      await database.migrateStock('stock', { before: SEARCH_INDICES });
      const marked = () =>
        database.query('select is_locked from stock.knex_migrations_lock');
      await database.query(
        'update stock.knex_migrations_lock set is_locked = 1 returning 1',
      );
      await withClient(database.login, async other => {
        await other.query(
          'begin; alter table stock.final_entities add column late int',
        );
        await expect(
          database
            .tables({ patienceMs: 1 })
            .protectDefaultCatalog({ schema: 'stock' }),
        ).rejects.toThrow(
          /^Process \d+ of the server .* has changed the tables in the schema "stock"/,
        );
        expect(await marked()).toEqual([{ is_locked: 1 }]);
        await other.query('rollback');
      });
      await database.tables().protectDefaultCatalog({ schema: 'stock' });
      expect(await marked()).toEqual([{ is_locked: 0 }]);
      expect(await searchIndexes(database, 'stock')).toEqual(EXPECTED);
    });

    it('bring the schemas of tenants to the newest version, with their rows', async () => {
      const database = await create();
      const old = migrationsFolder({ before: SEARCH_INDICES });
      const older = database.tables({ migrationsDirectory: old });
      const [first, second] = [randomUUID(), randomUUID()].sort();
      await older.provision(first);
      await older.provision(second);
      await database.query(
        `insert into ${engineSchemaOf(
          first,
        )}.refresh_state (entity_id, entity_ref, unprocessed_entity, unprocessed_hash, errors, next_update_at, last_discovery_at)
       values ('e', 'component:default/e', '{}', '', '[]', now(), now());
       insert into ${engineSchemaOf(
         first,
       )}.final_entities (entity_id, entity_ref, hash, final_entity)
       values ('e', 'component:default/e', 'h', '{}');
       insert into ${engineSchemaOf(first)}.search (entity_id, key, value)
       values ('e', 'kind', 'component'), ('e', 'kind', 'component')`,
      );
      const tables = database.tables();
      const versions = () =>
        Promise.all([first, second].map(each => tables.provision(each)));
      expect(await versions()).toEqual(['older', 'older']);
      await Promise.all([
        tables.upgrade(first),
        database.tables().upgrade(first),
        database.tables().upgrade(second),
      ]);
      expect(await versions()).toEqual(['current', 'current']);
      // A new tenant has the new version.
      const third = randomUUID();
      await tables.provision(third);
      const made = await inventory(database, engineSchemaOf(third));
      expect(made.indexes.join()).toContain(EXPECTED[0]);
      for (const tenantId of [first, second]) {
        const found = await inventory(database, engineSchemaOf(tenantId));
        expect(found.indexes).toEqual(made.indexes);
        expect(found.constraints).toEqual(made.constraints);
        expect(found.statistics).toEqual(made.statistics);
        expect(found.columns).toEqual(made.columns);
      }
      // Upstream removes duplicates. Had it found the index of another schema, it would not.
      expect(
        await database.query(`select key from ${engineSchemaOf(first)}.search`),
      ).toEqual([{ key: 'kind' }]);
    });

    it('refuse tables of a newer release, and leave them', async () => {
      const database = await create();
      const tenantId = randomUUID();
      await database.tables().provision(tenantId);
      const before = await inventory(database, engineSchemaOf(tenantId));
      const old = database.tables({
        migrationsDirectory: migrationsFolder({ before: SEARCH_INDICES }),
      });
      await database.use(async client => {
        // The newer release is at work, which the older one must not disturb by locks.
        await client.query(
          `begin; select from ${engineSchemaOf(tenantId)}.search`,
        );
        await expect(old.upgrade(tenantId, { patienceMs: 0 })).rejects.toThrow(
          `this one does not have ${SEARCH_INDICES}`,
        );
        await client.query('rollback');
      });
      expect(await inventory(database, engineSchemaOf(tenantId))).toEqual(
        before,
      );
      expect(await old.provision(tenantId)).toBe('newer');
    });

    it.each([
      ['', ''],
      [
        ', whatever lock_timeout they set',
        `await knex.raw('SET LOCAL lock_timeout = 0');`,
      ],
    ])(
      'hold up those who use the tables for short times only, and come again%s',
      async (_, set) => {
        const database = await create();
        const tenantId = randomUUID();
        const schema = engineSchemaOf(tenantId);
        await database.tables().provision(tenantId);
        const newer = database.tables({
          migrationsDirectory: migrationsFolder({
            further: {
              '20990101000000_column.js': {
                up: `${set} await knex.raw('alter table search add column extra int')`,
              },
            },
          }),
        });
        await database.use(async client => {
          await client.query(`begin; select from ${schema}.search`);
          const upgrading = newer.upgrade(tenantId);
          await waitUntil('the request for the lock', () =>
            isAskedFor(database, `${schema}.search`),
          );
          // It waits behind the request, which gives up: the reader's transaction goes on.
          await withDeadline(
            'another reader',
            database.query(`select from ${schema}.search`),
          );
          await client.query('commit');
          await withDeadline('the upgrade', upgrading);
        });
        expect(await newer.provision(tenantId)).toBe('current');
      },
    );

    it('of which one fails name it, leave what was there, and run once it is corrected', async () => {
      const database = await create();
      const tenantId = randomUUID();
      const schema = engineSchemaOf(tenantId);
      await database.tables().provision(tenantId);
      const before = await restorable(database, schema);
      const release = (second: string) =>
        database.tables({
          migrationsDirectory: migrationsFolder({
            further: {
              '20990101000000_first.js': {
                up: `await knex.raw('create table first (a int)')`,
              },
              '20990102000000_second.js': { up: second, isWhole: false },
            },
          }),
        });
      await expect(
        release(`await knex.raw('create table first (a int)')`).upgrade(
          tenantId,
        ),
      ).rejects.toThrow(
        /20990102000000_second\.js of the catalog failed: relation "first" already exists$/,
      );
      expect(await restorable(database, schema)).toEqual(before);
      const corrected = release(
        `await knex.raw('create table second (a int)')`,
      );
      await corrected.upgrade(tenantId);
      expect(await corrected.provision(tenantId)).toBe('current');
    });

    it.each([true, false])(
      'that replace a table keep carrying what the engine writes there, in a transaction: %p',
      async isWhole => {
        const { database, tenantId, schema } = await withEntity();
        const before = await adoptionTriggersOf(database, schema);
        const newer = database.tables({
          migrationsDirectory: migrationsFolder({
            further: {
              '20990101000000_replace.js': {
                up: `
                  await knex.raw('alter table final_entities rename to old_entities');
                  await knex.raw('create table final_entities (like old_entities including all)');
                  await knex.raw('insert into final_entities select * from old_entities');
                  await knex.raw('drop table old_entities cascade');`,
                isWhole,
              },
            },
          }),
        });
        await newer.upgrade(tenantId);
        expect(before).toHaveLength(11);
        expect(await adoptionTriggersOf(database, schema)).toEqual(before);
        await database.query(
          `update ${schema}.final_entities
              set final_entity = jsonb_set(final_entity::jsonb, '{spec}', '{"type": "changed"}')`,
        );
        expect(
          await database.query(
            `select final_entity -> 'spec' as spec from tenancy.entities where tenant_id = $1`,
            [tenantId],
          ),
        ).toEqual([{ spec: { type: 'changed' } }]);
        expect(
          await database.query('select from tenancy.adoption_faults'),
        ).toEqual([]);
      },
    );

    it('that remove a table from which entities are carried are rolled back, and the reason says so', async () => {
      const { database, tenantId, schema } = await withEntity();
      const before = await restorable(database, schema);
      const newer = database.tables({
        migrationsDirectory: migrationsFolder({
          further: {
            '20990101000000_remove.js': {
              up: `await knex.raw('alter table final_entities rename to entities')`,
            },
          },
        }),
      });
      await expect(newer.upgrade(tenantId)).rejects.toThrow(
        /20990101000000_remove\.js.*does not know: .*final_entities.*Deploy a newer version/,
      );
      expect(await restorable(database, schema)).toEqual(before);
    });

    /** A tenant whose engine has one entity. */
    async function withEntity() {
      const database = await create();
      const tenantId = await database.newTenant();
      const schema = engineSchemaOf(tenantId);
      await database.tables().provision(tenantId);
      await database.ingest(tenantId);
      return { database, tenantId, schema };
    }
  },
);

/** Whether a statement waits for a lock of the table. */
async function isAskedFor(
  database: EngineDatabase,
  table: string,
): Promise<boolean> {
  const found = await database.query(
    `select from pg_locks where not granted and relation = $1::regclass`,
    [table],
  );
  return found.length > 0;
}
