import { ConfigReader } from '@backstage/config';
import { mockServices } from '@backstage/backend-test-utils';
import { createTestDatabases, waitUntil } from '@internal/postgres/testUtils';
import type { MockupStore } from 'backstage-plugin-mockup-node';
import createKnex, { type Knex } from 'knex';
import { createMockups } from '../__testUtils__/mockupStores';
import { ALICE, BOB } from '../__testUtils__/startMockupBackend';
import { storesOpener } from '../__testUtils__/mockupStores';
import { applyRetention } from './applyRetention';
import { readMockupConfig, type Retention } from '../readMockupConfig';

const DAY_MS = 24 * 3600 * 1000;
const databases = createTestDatabases({ versions: 'newest' });

describe('the configuration of the retention', () => {
  const read = (mockup: object) =>
    readMockupConfig(new ConfigReader({ mockup })).retention;

  it.each([
    ['2d', 2 * DAY_MS],
    [{ hours: 12 }, DAY_MS / 2],
    ['P1D', DAY_MS],
    ['forever', undefined],
  ])('takes %j for the trash', (retention, trashMs) => {
    expect(read({ trash: { retention } })).toMatchObject({ trashMs });
  });

  it.each([
    ['soon'],
    [{ weeks: 'x' }],
    [0],
    [{ days: 0 }],
    [{ years: 9999 }],
    [true],
  ])('refuses %j for the trash', retention => {
    expect(() => read({ trash: { retention } })).toThrow(
      `The configuration mockup.trash.retention is ${JSON.stringify(
        retention,
      )}. Expected a duration above zero, of at most 1000 years, such as '30d' or { days: 30 }, or 'forever'.`,
    );
  });

  it.each([[0], [-1], [1.5], ['all'], [{}]])('refuses %j versions', keep => {
    expect(() => read({ versions: { keep } })).toThrow(
      `The configuration mockup.versions.keep is ${JSON.stringify(
        keep,
      )}. Expected a whole number of 1 or more.`,
    );
  });
});

describe.each(databases.eachSupportedId())('the retention on %s', id => {
  const TENANTS = [
    '00000000-0000-4000-8000-00000000000a',
    '00000000-0000-4000-8000-00000000000b',
  ];
  const logger = mockServices.logger.mock();
  const open = storesOpener();
  let knex: Knex;
  let stores: MockupStore[];

  beforeAll(async () => {
    knex = await databases.init(id);
    const opened = await open(knex, { logger });
    stores = TENANTS.map(tenant => opened.forTenant(tenant));
  });

  beforeEach(async () => {
    await knex('mockups').delete();
    await knex('mockup_trash').delete();
    jest.clearAllMocks();
  });

  const apply = (retention: Partial<Retention>) =>
    applyRetention({
      knex,
      logger,
      retention: { trashMs: undefined, versions: undefined, ...retention },
    });

  it('deletes from the trash of all tenants what is too old, and nothing else', async () => {
    for (const store of stores) {
      const [old, recent] = await createMockups(store, 'old', 'recent', 'live');
      await store.saveVersion(old.id, { layoutData: [] }, { createdBy: ALICE });
      await store.delete(old.id);
      await store.delete(recent.id);
    }
    await knex('mockup_trash')
      .where({ name: 'old' })
      .update({ deleted_at: knex.raw("deleted_at - interval '2 days'") });

    await apply({ trashMs: DAY_MS });
    for (const store of stores) {
      await expect(store.listTrash()).resolves.toMatchObject({
        items: [{ name: 'recent' }],
        totalItems: 1,
      });
      await expect(store.list()).resolves.toMatchObject({ totalItems: 1 });
    }
    await expect(knex('mockup_trash_versions').count()).resolves.toEqual([
      { count: '0' },
    ]);
    expect(logger.info).toHaveBeenCalledWith(
      'Deleted mockups from the trash for good',
      { mockups: 2 },
    );
  });

  it('deletes nothing once it is aborted', async () => {
    const [store] = stores;
    const [mockup, old] = await createMockups(store, 'x', 'old');
    for (const _ of [1, 2]) {
      await store.saveVersion(
        mockup.id,
        { layoutData: [] },
        { createdBy: ALICE },
      );
    }
    await store.delete(old.id);
    await applyRetention({
      ...{ knex, logger, retention: { trashMs: 1e-9, versions: 1 } },
      signal: AbortSignal.abort(),
    });
    await expect(store.listTrash()).resolves.toMatchObject({ totalItems: 1 });
    await expect(store.listVersions(mockup.id)).resolves.toMatchObject({
      totalItems: 2,
    });
  });

  it('deletes more than a transaction takes', async () => {
    await knex.raw(`
      insert into mockups (name, owner)
      select 'x', '${ALICE}' from generate_series(1, 250)`);
    await knex('mockups').delete();
    await apply({ trashMs: 1e-9 });
    await expect(knex('mockup_trash').count()).resolves.toEqual([
      { count: '0' },
    ]);
  });

  it('keeps tagged versions, the newest, and as many others as configured', async () => {
    const [store] = stores;
    const [{ id: mockupId }, other] = await createMockups(store, 'x', 'other');
    const save = async (mockup: string, versionTag?: string) =>
      (await store.saveVersion(
        mockup,
        { layoutData: [], ...(versionTag && { versionTag }) },
        { createdBy: ALICE },
      ))!.version.id;
    await save(mockupId);
    const tagged = await save(mockupId, 'release');
    await save(mockupId);
    const kept = [await save(mockupId), await save(mockupId)];
    const newest = await save(mockupId, 'newest');
    const alone = await save(other.id);

    await apply({ versions: 2 });
    const idsOf = async (mockup: string) =>
      (await store.listVersions(mockup))!.items.map(version => version.id);
    await expect(idsOf(mockupId)).resolves.toEqual([
      newest,
      kept[1],
      kept[0],
      tagged,
    ]);
    await expect(idsOf(other.id)).resolves.toEqual([alone]);

    await apply({ versions: 1 });
    await expect(idsOf(mockupId)).resolves.toEqual([newest, kept[1], tagged]);
    expect(logger.info).toHaveBeenCalledWith(
      'Deleted untagged versions of mockups',
      { versions: 1 },
    );
  });

  it('keeps versions that are published, marked as ready to be, or tagged, also at that moment', async () => {
    const [store] = stores;
    const [{ id: mockupId }] = await createMockups(store, 'x');
    const ids: string[] = [];
    for (let saved = 0; saved < 7; saved += 1) {
      const made = await store.saveVersion(
        mockupId,
        { layoutData: [] },
        { createdBy: ALICE },
      );
      ids.unshift(made!.version.id);
    }
    const mark = (by: Knex, version: string) =>
      by('mockup_ready_versions').insert({
        tenant_id: TENANTS[0],
        version_id: version,
        ready_by: BOB,
        ready_at: '2026-01-31',
      });
    const publish = (by: Knex, version: string) =>
      by('mockup_pages').insert({
        tenant_id: TENANTS[0],
        path: version,
        title: 'x',
        mockup_id: mockupId,
        version_id: version,
        audience: 'everybody',
        is_home: false,
        published_by: ALICE,
        published_at: '2026-01-31',
      });
    await mark(knex, ids[2]);
    await publish(knex, ids[3]);
    const marking = await knex.transaction();
    await mark(marking, ids[4]);
    await publish(marking, ids[5]);
    await marking('mockup_versions')
      .where({ id: ids[6] })
      .update({ version_tag: 'x' });
    const applied = apply({ versions: 1 });
    await waitUntil('the retention to wait for the mark', async () => {
      const { rows } = await knex.raw(`
        select from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock'`);
      return rows.length;
    });
    await marking.commit();
    await applied;
    const { items } = (await store.listVersions(mockupId))!;
    expect(items.map(version => version.id)).toEqual([ids[0], ...ids.slice(2)]);
  });

  it('goes on with other tenants where one is moved, and deletes its rows later', async () => {
    for (const store of stores) {
      const [old, live] = await createMockups(store, 'old', 'live');
      await store.delete(old.id);
      for (let saved = 0; saved < 3; saved += 1) {
        await store.saveVersion(
          live.id,
          { layoutData: [] },
          { createdBy: ALICE },
        );
      }
    }
    // As `tenant move` does.
    await knex.raw(`
      create function refuse() returns trigger language plpgsql as $$ begin
        raise exception 'The tenant is read-only'
          using errcode = 'read_only_sql_transaction', constraint = 'tenant_moves';
      end $$`);
    for (const table of ['mockup_trash', 'mockup_versions']) {
      await knex.raw(`
        create trigger refuse after delete on ${table} for each row
          when (old.tenant_id = '${TENANTS[0]}') execute function refuse()`);
    }
    const left = () =>
      Promise.all(
        stores.map(async store => {
          const { items } = await store.list();
          const versions = await store.listVersions(items[0].id);
          const trash = await store.listTrash();
          return [trash.totalItems, versions?.totalItems];
        }),
      );
    const retention = { trashMs: 1e-9, versions: 1 };
    try {
      await apply(retention);
      await expect(left()).resolves.toEqual([
        [1, 3],
        [0, 1],
      ]);
      expect(logger.warn).toHaveBeenCalledTimes(2);
      expect(logger.warn).toHaveBeenCalledWith(
        expect.stringContaining(
          `of the tenant ${TENANTS[0]} stay until the next run`,
        ),
      );
    } finally {
      await knex.raw('drop function refuse cascade');
    }
    await apply(retention);
    await expect(left()).resolves.toEqual([
      [0, 1],
      [0, 1],
    ]);
  });

  it('can be as long as the configuration may say', async () => {
    const { retention } = readMockupConfig(
      new ConfigReader({ mockup: { trash: { retention: { years: 1000 } } } }),
    );
    const opened = await open(knex, { trashRetentionMs: retention.trashMs });
    const store = opened.forTenant(TENANTS[0]);
    const [{ id: mockupId }] = await createMockups(store, 'x');
    await store.delete(mockupId);
    await expect(apply(retention)).resolves.toBeUndefined();
    const { items } = await store.listTrash();
    expect(items[0].purgedAfter).toMatch(/^3\d{3}-/);
  });

  it('says that policies which bind the database user keep tenants from it', async () => {
    await apply({});
    expect(logger.warn).not.toHaveBeenCalled();
    const login = `retention_${process.pid}`;
    await knex.raw(`create role ${login} login password 'secret'`);
    await knex.raw(
      `grant select, delete on mockup_trash, mockup_versions, mockup_editors to ${login}`,
    );
    const bound = createKnex({
      client: 'pg',
      connection: {
        ...knex.client.config.connection,
        user: login,
        password: 'secret',
      },
    });
    try {
      const [store] = stores;
      const [{ id: mockupId }] = await createMockups(store, 'x');
      await store.delete(mockupId);
      await applyRetention({
        knex: bound,
        logger,
        retention: { trashMs: 1e-9, versions: undefined },
      });
      expect(logger.warn).toHaveBeenCalledWith(
        expect.stringContaining("only the default tenant's"),
      );
      await expect(store.listTrash()).resolves.toMatchObject({ totalItems: 1 });
    } finally {
      await bound.destroy();
      await knex.raw(`drop owned by ${login}`);
      await knex.raw(`drop role ${login}`);
    }
  });

  it('deletes nothing where nothing is configured', async () => {
    const [store] = stores;
    const [{ id: mockupId }] = await createMockups(store, 'x');
    for (let saved = 0; saved < 3; saved += 1) {
      await store.saveVersion(
        mockupId,
        { layoutData: [] },
        { createdBy: ALICE },
      );
    }
    await apply({});
    await expect(store.listVersions(mockupId)).resolves.toMatchObject({
      totalItems: 3,
    });
    await store.delete(mockupId);
    await apply({});
    await expect(store.restore(mockupId)).resolves.toBeDefined();
  });
});
