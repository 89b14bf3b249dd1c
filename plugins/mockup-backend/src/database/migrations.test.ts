import {
  createTestDatabases,
  waitUntil,
  withDeadline,
} from '@internal/postgres/testUtils';
import type { Knex } from 'knex';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { storesOpener } from '../__testUtils__/mockupStores';

const databases = createTestDatabases();
const directory = path.resolve(__dirname, '../../migrations');

const OWNER = 'user:default/alice';
const ITEM = { i: 'a', x: 0, y: 0, w: 1, h: 1, component: 'C', props: {} };

describe.each(databases.eachSupportedId())('migrations on %s', id => {
  const open = storesOpener();
  let knex: Knex;

  beforeAll(async () => {
    knex = await databases.init(id);
    await knex.migrate.latest({ directory });
  });

  async function columnsOf(table: string) {
    const { rows } = await knex.raw(
      `select column_name as name, data_type as type, is_nullable as nullable
         from information_schema.columns where table_name = ?
        order by ordinal_position`,
      [table],
    );
    return rows.map((row: Record<string, string>) => Object.values(row));
  }

  it('create the columns of the specification', async () => {
    await expect(columnsOf('mockups')).resolves.toEqual([
      ['id', 'uuid', 'NO'],
      ['name', 'character varying', 'NO'],
      ['description', 'text', 'YES'],
      ['owner', 'character varying', 'NO'],
      ['created_at', 'timestamp without time zone', 'NO'],
      ['updated_at', 'timestamp without time zone', 'NO'],
      ['tenant_id', 'uuid', 'NO'],
      ['readers', 'ARRAY', 'NO'],
      ['writers', 'ARRAY', 'NO'],
    ]);
    await expect(columnsOf('mockup_versions')).resolves.toEqual([
      ['id', 'uuid', 'NO'],
      ['mockup_id', 'uuid', 'NO'],
      ['version_tag', 'character varying', 'YES'],
      ['layout_data', 'jsonb', 'NO'],
      ['created_by', 'character varying', 'NO'],
      ['created_at', 'timestamp without time zone', 'NO'],
      ['tenant_id', 'uuid', 'NO'],
      ['restored_from', 'uuid', 'YES'],
      ['message', 'text', 'YES'],
    ]);
  });

  it('leave nothing behind when they are undone, and can be run again', async () => {
    const other = await databases.init(id);
    await other.migrate.latest({ directory });
    await other.migrate.rollback({ directory }, true);
    const { rows } = await other.raw(`
      select relname from pg_class
       where relnamespace = 'public'::regnamespace
         and relname not like 'knex_migrations%'`);
    expect(rows).toEqual([]);

    await other.migrate.latest({ directory });
    await expect(other('mockups')).resolves.toEqual([]);
  });

  it('work where pg_trgm stands in a schema off the search path', async () => {
    const other = await databases.init(id);
    await other.raw('create schema elsewhere');
    await other.raw('create extension pg_trgm schema elsewhere');
    await other.migrate.latest({ directory });
    await expect(other('mockup_search')).resolves.toEqual([]);
  });

  describe('bound what any writer can store:', () => {
    it.each([
      [{ name: '' }, 'mockups_name_check'],
      [{ name: '🙂'.repeat(256) }, 'mockups_name_check'],
      [{ description: 'd'.repeat(1001) }, 'mockups_description_check'],
      [{ owner: 'alice' }, 'mockups_owner_check'],
      [{ owner: 'group:default/a' }, 'mockups_owner_check'],
    ])('a mockup with %j', async (overrides, constraint) => {
      const row = { name: 'x', owner: OWNER, ...overrides };
      await expect(knex('mockups').insert(row)).rejects.toMatchObject({
        constraint,
      });
    });

    it.each([
      [{ version_tag: 't'.repeat(51) }, 'mockup_versions_version_tag_check'],
      [{ message: 'm'.repeat(1001) }, 'mockup_versions_message_check'],
      [{ created_by: 'alice' }, 'mockup_versions_created_by_check'],
      ...[
        {},
        'text',
        [7],
        [[ITEM]],
        [{}],
        [{ ...ITEM, i: 1 }],
        [{ ...ITEM, component: null }],
        [{ ...ITEM, props: [] }],
        [{ ...ITEM, x: -1 }],
        [{ ...ITEM, y: 0.5 }],
        [{ ...ITEM, w: 0 }],
        [{ ...ITEM, h: '1' }],
        [ITEM, { ...ITEM, x: null }],
        Array(1001).fill(ITEM),
      ].map((layout): [object, string] => [
        { layout_data: JSON.stringify(layout) },
        'mockup_versions_layout_data_check',
      ]),
    ])('a version %#', async (overrides: object, constraint) => {
      const [{ id: mockupId }] = await knex('mockups')
        .insert({ name: 'x', owner: OWNER })
        .returning('id');
      const row = {
        mockup_id: mockupId,
        layout_data: '[]',
        created_by: OWNER,
        created_at: '2026-01-01',
      };
      await knex('mockup_versions').insert(row);
      await expect(
        knex('mockup_versions').insert({
          ...row,
          created_at: '2026-01-02',
          ...overrides,
        }),
      ).rejects.toMatchObject({ constraint });
    });

    it('and the store says which constraint, not which statement', async () => {
      const stores = await open(knex, { multiTenant: false });
      const store = stores.forDefaultTenant();
      const tooLong = store.create({ name: 'x'.repeat(256) }, { owner: OWNER });
      await expect(tooLong).rejects.toMatchObject({
        name: 'InputError',
        message:
          "The value breaks the constraint 'mockups_name_check' of the mockup database",
      });
      const withNul = store.create({ name: 'a\0' }, { owner: OWNER });
      await expect(withNul).rejects.toMatchObject({ name: 'InputError' });
    });
  });

  describe('of a live database', () => {
    const { up } = require('../../migrations/20261127010000_message.js');

    /** A database as f344899 left it, with a mockup and its version. */
    async function before() {
      const other = await databases.init(id);
      await other.migrate.up({ directory });
      const [{ id: mockupId }] = await other('mockups')
        .insert({ name: 'Checkout', owner: OWNER })
        .returning('id');
      await other('mockup_versions').insert({
        mockup_id: mockupId,
        layout_data: '[]',
        created_by: OWNER,
        created_at: '2026-01-01',
      });
      await other('knex_migrations').insert(
        ['tenants', 'restored_from', 'trash', 'shares'].map(name => ({
          name: readdirSync(directory).find(file =>
            file.endsWith(`_${name}.js`),
          ),
          batch: 1,
          migration_time: new Date(),
        })),
      );
      return other;
    }

    it('bring along what f344899 has kept', async () => {
      const other = await before();
      await other.migrate.latest({ directory });
      const stores = await open(other);
      const store = stores.forDefaultTenant();
      const { items } = await store.list({ search: 'chec' });
      expect(items).toMatchObject([{ name: 'Checkout' }]);
      await expect(store.getLatestVersion(items[0].id)).resolves.toBeDefined();
      await expect(store.delete(items[0].id)).resolves.toBe(true);
      await expect(store.listTrash()).resolves.toMatchObject({ totalItems: 1 });
    });

    it('keep no reader and no writer waiting, nor do those who stay long end them', async () => {
      const other = await before();
      const reader = await other.transaction();
      await reader.raw('select * from mockup_versions');
      let isOver = false;
      const running = up(other).finally(() => {
        isOver = true;
      });
      await waitUntil('the migration to ask for its lock', async () => {
        const { rows } = await other.raw(
          "select 1 from pg_locks where mode = 'AccessExclusiveLock' and relation = 'mockup_versions'::regclass and not granted",
        );
        return rows.length > 0;
      });
      for (const tag of ['one', 'two', 'three']) {
        await withDeadline(
          'a write beside the migration',
          other('mockup_versions').update({ version_tag: tag }),
        );
        await withDeadline(
          'a read beside it',
          other('mockup_versions').select(),
        );
      }
      expect(isOver).toBe(false);
      await reader.commit();
      await withDeadline('the migration', running);
      await expect(
        other('mockup_versions').select('version_tag', 'message'),
      ).resolves.toEqual([{ version_tag: 'three', message: null }]);
    });
  });

  it('give each query its index', async () => {
    await knex.raw(`
      insert into mockups (name, description, owner, updated_at)
      select 'mockup ' || n, repeat(md5(n::text), 20), 'user:default/u' || n % 100,
             timestamp '2026-01-01' + n * interval '1 second'
        from generate_series(1, 5000) n`);
    await knex.raw(`
      insert into mockup_versions (mockup_id, layout_data, created_by, created_at)
      select id, '[]', owner, updated_at + n * interval '1 second'
        from mockups, generate_series(1, 3) n`);
    await knex.raw('analyze mockups, mockup_versions, mockup_search');

    // Whether an index can answer a query, however small the tables are here.
    const planOf = (sql: string) =>
      knex.transaction(async transaction => {
        await transaction.raw('set local enable_seqscan = off');
        const { rows } = await transaction.raw(`explain ${sql}`);
        return rows
          .map((row: Record<string, string>) => row['QUERY PLAN'])
          .join('\n');
      });
    const ofTenant = "tenant_id = '00000000-0000-0000-0000-000000000001'";
    await expect(
      planOf(
        `select * from mockups where ${ofTenant} and owner = 'user:default/u1' order by updated_at desc, id desc limit 10`,
      ),
    ).resolves.toContain('mockups_tenant_owner_idx');
    await expect(
      planOf(
        `select * from mockups where ${ofTenant} order by updated_at desc, id desc limit 10`,
      ),
    ).resolves.toContain('mockups_tenant_updated_at_idx');
    await expect(
      planOf(
        `select * from mockups where ${ofTenant} order by created_at, id limit 10`,
      ),
    ).resolves.toContain('mockups_tenant_created_at_idx');
    await expect(
      planOf(
        `select * from mockups where ${ofTenant} order by name, id limit 10`,
      ),
    ).resolves.toContain('mockups_tenant_name_idx');
    await expect(
      planOf(
        `select * from mockups where ${ofTenant} and id in (
           select mockup_id from mockup_search where ${ofTenant}
              and (name ilike '%up 4999%' or description ilike '%up 4999%'))`,
      ),
    ).resolves.toContain('mockup_search_text_idx');
    await expect(
      planOf(
        `select * from mockup_versions where ${ofTenant}
            and mockup_id = (select id from mockups limit 1)
          order by created_at desc limit 1`,
      ),
    ).resolves.toContain('mockup_versions_order_key');
  });
});
