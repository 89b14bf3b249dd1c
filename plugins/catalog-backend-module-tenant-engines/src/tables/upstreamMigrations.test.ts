import { mockServices } from '@backstage/backend-test-utils';
import { engineSchemaOf } from 'backstage-catalog-tenancy-migrations';
import {
  createTestDatabases,
  waitUntil,
  withDeadline,
} from '@internal/postgres/testUtils';
import { randomUUID } from 'node:crypto';
import { Breaking } from './__testUtils__/breakingStream';
import { EngineDatabase, UPSTREAM } from './__testUtils__/EngineDatabase';
import { inventory } from './__testUtils__/inventory';
import {
  migrationsFolder,
  UPSTREAM_NAMES,
} from './__testUtils__/migrationsFolder';

jest.setTimeout(600_000);

const databases = createTestDatabases({ versions: 'every' });

const SEARCH_INDICES = '20260510000000_search_indices_and_dedup.js';
// Its two indexes are created one after the other, whether they are there or not.
const NOT_IDEMPOTENT = '20240130092632_search_index.js';

const EXPECTED = [
  'search_entity_key_value_idx',
  'search_facets_covering_idx',
  'search_key_value_entity_idx',
];

const ENTITY = {
  apiVersion: 'backstage.io/v1alpha1',
  kind: 'Component',
  metadata: {
    name: 'e',
    namespace: 'default',
    uid: '7f5b0ba4-3c8e-4a1f-9d53-1c9b7f1f6d11',
  },
  spec: { type: 'service' },
};

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

/** Has the columns in the order of their creation, which is not that of a new schema. */
async function structure(database: EngineDatabase, schema: string) {
  const {
    'rows of knex_migrations': _migrations,
    'rows of locations': _locations,
    'rows of search': _search,
    'rows of final_entities': _final,
    sequences: _sequences,
    ...rest
  } = await inventory(database, schema);
  return rest;
}

describe.each(databases.eachSupportedId())(
  'the migrations of upstream, %p',
  id => {
    const create = (options?: { hasTemplate?: boolean }) =>
      EngineDatabase.create(databases, id, options);

    describe.each([1, 2])('beside %i schemas that have the newest', count => {
      async function besideOthers(): Promise<EngineDatabase> {
        const database = await create({ hasTemplate: true });
        for (let nr = 1; nr < count; nr += 1) {
          await database.tables().provision(randomUUID());
        }
        return database;
      }

      it('go wrong in the default catalog without protection', async () => {
        const database = await besideOthers();
        const outcome = await database.migrateStock('stock').then(
          () => 'done',
          error => error.code,
        );
        // cardinality_violation: the sub-select finds the index of each.
        expect(outcome).toBe(count === 1 ? 'done' : '21000');
        // Once upstream has corrected it, this fails, and the protection may go.
        expect(await searchIndexes(database, 'stock')).toEqual([]);
        const { statistics } = await inventory(database, 'stock');
        expect(statistics).toEqual([]);
      });

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
      const database = await create({ hasTemplate: true });
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
      const database = await create({ hasTemplate: true });
      await database.migrateStock('stock', { before: SEARCH_INDICES });
      await Promise.all(
        Array.from({ length: 4 }, () =>
          database.tables().protectDefaultCatalog({ schema: 'stock' }),
        ),
      );
      expect(await searchIndexes(database, 'stock')).toEqual(EXPECTED);
    });

    it('of the default catalog wait for the stock plugin that runs them, and say how to release its lock', async () => {
      const database = await create({ hasTemplate: true });
      await database.migrateStock('stock', { before: SEARCH_INDICES });
      await database.query(
        'update stock.knex_migrations_lock set is_locked = 1',
      );
      await expect(
        database
          .tables({ patienceMs: 100 })
          .protectDefaultCatalog({ schema: 'stock' }),
      ).rejects.toThrow(
        'release the lock: UPDATE "stock".knex_migrations_lock SET is_locked = 0',
      );
      const waiting = database
        .tables()
        .protectDefaultCatalog({ schema: 'stock' });
      await database.query(
        'update stock.knex_migrations_lock set is_locked = 0',
      );
      await withDeadline('the migrations', waiting);
      expect(await searchIndexes(database, 'stock')).toEqual(EXPECTED);
    });

    it('that were killed when all were done do not lock the stock plugin out', async () => {
      const database = await create({ hasTemplate: true });
      await database.migrateStock('stock');
      await database.query(
        'update stock.knex_migrations_lock set is_locked = 2',
      );
      await database.tables().protectDefaultCatalog({ schema: 'stock' });
      await expect(database.migrateStock('stock')).resolves.toBeUndefined();
    });

    it('are said to have failed where they could not free their lock, and the next run does', async () => {
      const database = await create({ hasTemplate: true });
      await database.migrateStock('stock', { before: SEARCH_INDICES });
      await database.query(
        `create function stock.keep() returns trigger language plpgsql
           as 'begin raise exception ''The lock stays''; end';
         create trigger keep before update on stock.knex_migrations_lock
           for each row when (new.is_locked = 0) execute function stock.keep()`,
      );
      const protect = () =>
        database.tables().protectDefaultCatalog({ schema: 'stock' });
      await expect(protect()).rejects.toThrow('The lock stays');
      await database.query('drop function stock.keep cascade');
      await protect();
      await expect(
        database.query('select is_locked from stock.knex_migrations_lock'),
      ).resolves.toEqual([{ is_locked: 0 }]);
    });

    it('lock the default catalog against the stock plugin while they run', async () => {
      const database = await create({ hasTemplate: true });
      await database.migrateStock('stock', { before: SEARCH_INDICES });
      await database.use(async client => {
        // CREATE INDEX CONCURRENTLY waits for it.
        await client.query('begin isolation level repeatable read; select 1');
        const running = database
          .tables()
          .protectDefaultCatalog({ schema: 'stock' });
        await waitUntil('the index', () => isAtIndex(database));
        await expect(
          database.asPlugin('stock', knex =>
            knex.migrate.latest({ directory: UPSTREAM }),
          ),
        ).rejects.toThrow('already locked');
        await client.query('commit');
        await withDeadline('the migrations', running);
      });
      const [{ is_locked: state }] = await database.query<{
        is_locked: number;
      }>('select is_locked from stock.knex_migrations_lock');
      expect(state).toBe(0);
    });

    it('bring the schemas of tenants to the version of the template, with their rows', async () => {
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
      expect(await tables.list()).toEqual([
        { tenantId: first, version: 'older' },
        { tenantId: second, version: 'older' },
      ]);
      await Promise.all([
        tables.upgrade(first),
        database.tables().upgrade(first),
        database.tables().upgrade(second),
      ]);
      expect(await tables.list()).toEqual([
        { tenantId: first, version: 'current' },
        { tenantId: second, version: 'current' },
      ]);
      const template = await inventory(database, 'tenant_template');
      expect(template.indexes.join()).toContain(EXPECTED[0]);
      for (const tenantId of [first, second]) {
        const found = await inventory(database, engineSchemaOf(tenantId));
        expect(found.indexes).toEqual(template.indexes);
        expect(found.constraints).toEqual(template.constraints);
        expect(found.statistics).toEqual(template.statistics);
        expect(found.columns).toEqual(template.columns);
      }
      // Upstream removes duplicates. Had it found the index of another schema, it would not.
      expect(
        await database.query(`select key from ${engineSchemaOf(first)}.search`),
      ).toEqual([{ key: 'kind' }]);
      // A new tenant has the new version.
      const third = randomUUID();
      await tables.provision(third);
      expect(
        (await tables.list()).every(each => each.version === 'current'),
      ).toBe(true);
    });

    it('refuse tables of a newer release, and leave them', async () => {
      const database = await create({ hasTemplate: true });
      const tenantId = randomUUID();
      await database.tables().provision(tenantId);
      const before = await inventory(database, 'tenant_template');
      const old = database.tables({
        migrationsDirectory: migrationsFolder({ before: SEARCH_INDICES }),
      });
      for (const refused of [
        old.prepareTemplate(),
        old.provision(randomUUID()),
        old.upgrade(tenantId),
      ]) {
        await expect(refused).rejects.toThrow(
          `this one does not have ${SEARCH_INDICES}`,
        );
      }
      expect(await inventory(database, 'tenant_template')).toEqual(before);
      expect(await old.list()).toEqual([{ tenantId, version: 'newer' }]);
    });

    it.each([1, 2])(
      'go on in a schema that a killed process has left locked with %i',
      async state => {
        const database = await create();
        const tenantId = randomUUID();
        await database
          .tables({
            migrationsDirectory: migrationsFolder({ before: SEARCH_INDICES }),
          })
          .provision(tenantId);
        const lock = `${engineSchemaOf(tenantId)}.knex_migrations_lock`;
        await database.query(`update ${lock} set is_locked = $1`, [state]);
        await database.tables().upgrade(tenantId);
        expect(await database.query(`select is_locked from ${lock}`)).toEqual([
          { is_locked: 0 },
        ]);
      },
    );

    it('that were killed while an index was built are finished by the next run', async () => {
      const database = await create();
      const tenantId = randomUUID();
      const schema = engineSchemaOf(tenantId);
      // Upstream's own: it creates two indexes without a look at what is there.
      await database
        .tables({
          migrationsDirectory: migrationsFolder({ before: NOT_IDEMPOTENT }),
        })
        .provision(tenantId);
      const tables = database.tables();
      await tables.prepareTemplate();
      await database.use(async client => {
        await client.query('begin isolation level repeatable read; select 1');
        const running = tables.upgrade(tenantId).then(
          () => 'done',
          () => 'broken',
        );
        const pid = await waitUntil('the index', () => isAtIndex(database));
        await client.query('select pg_terminate_backend($1)', [pid]);
        expect(await withDeadline('the end of it', running)).toBe('broken');
        await client.query('commit');
      });
      const [{ valid }] = await database.query<{ valid: boolean }>(
        `select indisvalid as valid from pg_index where indexrelid = $1::regclass`,
        [`${schema}.search_key_value_idx`],
      );
      expect(valid).toBe(false);
      await tables.upgrade(tenantId);
      const template = await inventory(database, 'tenant_template');
      const found = await inventory(database, schema);
      expect(found.indexes).toEqual(template.indexes);
      expect(found.constraints).toEqual(template.constraints);
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
        const database = await create({ hasTemplate: true });
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
        await newer.prepareTemplate();
        await database.use(async client => {
          await client.query(`begin; select from ${schema}.search`);
          const upgrading = newer.upgrade(tenantId);
          await waitUntil(
            'the request for the lock',
            async () =>
              (
                await database.query(
                  `select from pg_locks where not granted and relation = $1::regclass`,
                  [`${schema}.search`],
                )
              ).length > 0,
          );
          // It waits behind the request, which gives up: the reader's transaction goes on.
          await withDeadline(
            'another reader',
            database.query(`select from ${schema}.search`),
          );
          await client.query('commit');
          await withDeadline('the upgrade', upgrading);
        });
        expect(await newer.list()).toEqual([{ tenantId, version: 'current' }]);
      },
    );

    it('of which one fails name it, keep what was done before, and go on once it is corrected', async () => {
      const database = await create({ hasTemplate: true });
      const tenantId = randomUUID();
      const schema = engineSchemaOf(tenantId);
      await database.tables().provision(tenantId);
      const release = (second: string) =>
        migrationsFolder({
          further: {
            '20990101000000_first.js': {
              up: `await knex.raw('create table if not exists first (a int)')`,
            },
            '20990102000000_second.js': {
              up: second,
              isWhole: false,
            },
          },
        });
      const create2 = `await knex.raw('create table second (a int)');`;
      const folder = release(create2);
      await database.tables({ migrationsDirectory: folder }).prepareTemplate();
      // What a killed run of a migration without a transaction leaves.
      await database.query(
        `create table ${schema}.second (a int);
       alter table ${schema}.second owner to ${database.login.user}`,
      );
      await expect(
        database.tables({ migrationsDirectory: folder }).upgrade(tenantId),
      ).rejects.toThrow(
        new RegExp(
          `20990102000000_second.js of the catalog failed: relation "second" already exists.*` +
            `finish by hand in the schema "${schema}"`,
        ),
      );
      await database.query(`drop table ${schema}.second`);
      await database.tables({ migrationsDirectory: folder }).upgrade(tenantId);
      expect(
        await database.tables({ migrationsDirectory: folder }).list(),
      ).toEqual([{ tenantId, version: 'current' }]);
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
          `update ${schema}.final_entities set final_entity = $1`,
          [JSON.stringify({ ...ENTITY, spec: { type: 'changed' } })],
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
      const before = await inventory(database, schema);
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
      expect(await inventory(database, schema)).toEqual(before);
    });

    it('that wait for others end at once when they are cancelled, and the next run goes on', async () => {
      const database = await create();
      const tenantId = randomUUID();
      await database
        .tables({
          migrationsDirectory: migrationsFolder({ before: NOT_IDEMPOTENT }),
        })
        .provision(tenantId);
      const tables = database.tables();
      await tables.prepareTemplate();
      const controller = new AbortController();
      await database.use(async client => {
        await client.query('begin isolation level repeatable read; select 1');
        const outcome = tables
          .upgrade(tenantId, { signal: controller.signal })
          .catch(error => error);
        await waitUntil('the index', () => isAtIndex(database));
        const reason = new Error('shutting down');
        controller.abort(reason);
        expect(await withDeadline('the end of it', outcome)).toBe(reason);
        await client.query('commit');
      });
      await tables.upgrade(tenantId);
      expect(await tables.list()).toEqual([{ tenantId, version: 'current' }]);
    });

    /** A tenant whose engine has one entity. */
    async function withEntity() {
      const database = await create({ hasTemplate: true });
      const tenantId = await database.newTenant();
      const schema = engineSchemaOf(tenantId);
      await database.tables().provision(tenantId);
      await database.query(
        `insert into ${schema}.refresh_state (entity_id, entity_ref, unprocessed_entity, unprocessed_hash, errors, next_update_at, last_discovery_at)
         values ('${ENTITY.metadata.uid}', 'component:default/e', '{}', '', '[]', now(), now())`,
      );
      await database.query(
        `insert into ${schema}.final_entities (entity_id, entity_ref, hash, final_entity)
         values ('${ENTITY.metadata.uid}', 'component:default/e', 'h', $1)`,
        [JSON.stringify(ENTITY)],
      );
      return { database, tenantId, schema };
    }

    it('report their progress where they take long', async () => {
      const database = await create();
      const logger = mockServices.logger.mock();
      await database.use(async client => {
        await client.query('select pg_advisory_lock(99)');
        const preparing = database
          .tables({
            logger,
            migrationsDirectory: migrationsFolder({
              further: {
                '20990101000000_slow.js': {
                  up: `await knex.raw('select pg_advisory_xact_lock(99)')`,
                },
              },
            }),
          })
          .prepareTemplate();
        // On a busy machine those before it take long, too.
        await waitUntil('a report of the slow one', () =>
          logger.info.mock.calls.some(([text]) => text.includes('slow.js')),
        );
        await client.query('select pg_advisory_unlock(99)');
        await preparing;
      });
      const count = UPSTREAM_NAMES.length;
      expect(logger.info.mock.calls.map(([text]) => text)).toEqual(
        expect.arrayContaining([
          `Migrating the template of the tenants' catalog tables: ${count} of ${
            count + 1
          } done, now 20990101000000_slow.js`,
          expect.stringMatching(
            /^Migrated the template of the tenants' catalog tables in \d+ s$/,
          ),
        ]),
      );
    });

    it('of the template stop when they are cancelled, and leave no lock', async () => {
      const database = await create();
      const controller = new AbortController();
      controller.abort(new Error('shutting down'));
      await expect(
        database.tables().prepareTemplate({ signal: controller.signal }),
      ).rejects.toThrow('shutting down');
      await database.tables().prepareTemplate();
      expect(await searchIndexes(database, 'tenant_template')).toEqual(
        EXPECTED,
      );
    });
  },
);

/** The process that creates an index and waits for others. */
async function isAtIndex(
  database: EngineDatabase,
): Promise<number | undefined> {
  const [found] = await database.query<{ pid: number }>(
    `select pid from pg_stat_activity
      where datname = current_database() and state = 'active' and wait_event_type = 'Lock'
        and query ~* '^\\s*create.* index concurrently'`,
  );
  return found?.pid;
}
