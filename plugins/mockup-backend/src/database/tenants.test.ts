import { mockServices } from '@backstage/backend-test-utils';
import { createTestDatabases } from '@internal/postgres/testUtils';
import type { TenancyPool } from 'backstage-plugin-catalog-tenancy-node';
import type { Mockup } from 'backstage-plugin-mockup-common';
import type { MockupStore, MockupStores } from 'backstage-plugin-mockup-node';
import createKnex, { type Knex } from 'knex';
import { randomBytes } from 'node:crypto';
import { ALICE, BOB, item } from '../__testUtils__/startMockupBackend';
import { storesOpener } from '../__testUtils__/mockupStores';
import { DEFAULT_TENANT_ID, openPool } from './openMockupStores';
import { PostgresMockupStore } from './PostgresMockupStore';
import { ImportsUnderWay } from './MockupImport';
import { TENANT_ROLE } from './rowSecurity';
import { PageStore } from '../pages/PageStore';
import { ReviewStore } from '../review/ReviewStore';
import { TenantStatements } from './TenantStatements';

// Rights to roles differ between the versions.
const databases = createTestDatabases({ versions: 'every' });

const ACME = '00000000-0000-4000-8000-00000000000a';
const GLOBEX = '00000000-0000-4000-8000-00000000000b';

const TABLES = [
  'mockups',
  'mockup_versions',
  'mockup_search',
  'mockup_trash',
  'mockup_trash_versions',
  'mockup_pages',
  'mockup_comments',
  'mockup_ready_versions',
  'mockup_settings',
  'mockup_editors',
];

const logger = mockServices.logger.mock();

const openStores = storesOpener();
const open = (knex: Knex, options: { multiTenant?: boolean } = {}) =>
  openStores(knex, { ...options, logger });

const pools: TenancyPool[] = [];
afterAll(() => Promise.all(pools.map(pool => pool.close())));

/** The connections of a backend with tenants, as a role or as the owner. */
async function poolOf(knex: Knex, role?: string): Promise<TenancyPool> {
  const pool = await openPool(knex, { role, multiTenant: true, logger });
  pools.push(pool);
  return pool;
}

async function statementsOfAcme(knex: Knex): Promise<TenantStatements> {
  return new TenantStatements(await poolOf(knex, TENANT_ROLE), ACME);
}

interface Theirs {
  mockup: Mockup;
  versionId: string;
  /** One in the trash. */
  trashed: Mockup;
}

/** Creates a mockup with a version. */
async function create(store: MockupStore, name = 'Checkout'): Promise<Theirs> {
  const { mockup } = await store.create(
    { name, description: `The page ${name}` },
    { owner: ALICE },
  );
  const saved = await store.saveVersion(
    mockup.id,
    { layoutData: [item()], versionTag: 'first' },
    { createdBy: ALICE },
  );
  const { mockup: trashed } = await store.create(
    { name: `${name} before`, description: `The page ${name}` },
    { owner: ALICE },
  );
  await store.delete(trashed.id, { deletedBy: ALICE });
  return { mockup, versionId: saved!.version.id, trashed };
}

/** Everything that the operations of a store say of a mockup. */
async function whatIsThere(
  store: MockupStore,
  { mockup: { id, name }, versionId, trashed }: Theirs,
) {
  const pages = await Promise.all([
    store.list(),
    store.list({ owner: ALICE }),
    store.list({ search: name.slice(0, 5) }),
    store.list({ search: 'the page' }),
    store.list({ filter: { id: [id] } }),
    store.list({ filter: { not: { id: [] } } }),
    // Beyond the end, which has to be counted.
    store.list({ offset: 50 }),
    store.listTrash(),
    store.listTrash({ owner: ALICE, search: name.slice(0, 5) }),
    store.listTrash({ filter: { id: [trashed.id] } }),
    store.listTrash({ offset: 50 }),
  ]);
  const versions = { createdBy: ALICE };
  return {
    totals: pages.map(page => page.totalItems),
    items: pages.flatMap<Mockup>(page => page.items),
    get: await store.get(id),
    versions: await store.listVersions(id),
    oldestFirst: await store.listVersions(id, { oldestFirst: true }),
    version: await store.getVersion(id, versionId),
    compared: await store.compareVersions(id, versionId, versionId),
    latest: await store.getLatestVersion(id),
    restored: await store.restoreVersion(id, versionId, versions),
    restoredIf: await store.restoreVersion(id, versionId, {
      ...versions,
      ifRevisionIn: ['1'],
    }),
    tagged: await store.updateVersion(id, versionId, { versionTag: 'x' }),
    taggedIf: await store.updateVersion(
      id,
      versionId,
      { versionTag: 'x' },
      { ifRevisionIn: ['1'] },
    ),
    duplicates: await Promise.all(
      [true, false].map(withHistory =>
        store.duplicate(id, { withHistory }, { owner: ALICE }),
      ),
    ),
    updated: await store.update(id, { name: 'taken' }),
    updatedIf: await store.update(id, { name: 'x' }, { ifRevisionIn: ['1'] }),
    saved: await store.saveVersion(id, { layoutData: [] }, versions),
    untrashed: await store.restore(trashed.id),
    purged: await store.purge(trashed.id),
    deleted: await store.delete(id),
    deletedIf: await store.delete(id, { ifRevisionIn: ['1'] }),
  };
}

const NOTHING = {
  totals: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
  items: [],
  duplicates: [undefined, undefined],
  purged: false,
  deleted: false,
  deletedIf: false,
};

/** What a tenant gets of a mockup of another, which stays as it is. */
async function seenBy(own: MockupStore, others: MockupStore) {
  for (const { id } of (await own.listTrash({ limit: 500 })).items) {
    await own.purge(id);
  }
  const theirs = await create(others);
  const before = await others.get(theirs.mockup.id);
  expect(before?.mockup.latestVersion?.id).toBe(theirs.versionId);

  const trash = await others.listTrash();
  expect(trash.items.map(({ id }) => id)).toContain(theirs.trashed.id);

  const seen = await whatIsThere(own, theirs);

  await expect(others.get(theirs.mockup.id)).resolves.toEqual(before);
  await expect(others.list({ search: 'CHECK' })).resolves.toMatchObject({
    totalItems: 1,
  });
  await expect(others.listTrash()).resolves.toEqual(trash);
  return seen;
}

type StatementPool = Pick<TenancyPool, 'query' | 'transaction'>;

/** Removes from statements the predicate of their tenant. */
function withoutPredicates(pool: TenancyPool): StatementPool {
  const names = new RegExp(
    `(["\\w]*\\b(?:${TABLES.join('|')})"?\\."?tenant_id"?) = \\?`,
    'g',
  );
  const strip = (knex: Knex, statement: Knex.Raw | Knex.QueryBuilder) => {
    const { sql, bindings } = statement.toSQL();
    if (
      sql.search(names) < 0 &&
      !/^\s*(insert into (mockups|mockup_settings)|select pg_advisory)/.test(
        sql,
      )
    ) {
      throw new Error(`This statement has no predicate: ${sql}`);
    }
    return knex.raw(
      sql.replace(names, 'cast(? as uuid) is not null'),
      bindings as Knex.RawBinding[],
    );
  };
  return {
    query: (build, settings) =>
      pool.query(knex => strip(knex, build(knex)), settings),
    transaction: (settings, work) =>
      pool.transaction(settings, transaction =>
        work({
          ...transaction,
          query: statement =>
            transaction.query(strip(transaction.knex, statement)),
        }),
      ),
  };
}

/** What a tenant gets of a page of another, which stays as it is. */
async function pagesSeenBy(
  own: PageStore,
  others: PageStore,
  { mockup, versionId }: Theirs,
) {
  const request = {
    mockupId: mockup.id,
    versionId,
    audience: 'everybody' as const,
    home: true,
  };
  const writer = { user: ALICE, allowed: undefined, mayChooseHome: true };
  await others.publish('start', request, writer);
  const reader = { audiences: ['everybody' as const], user: ALICE };
  const before = await others.get('start', reader);
  expect(before?.publication).toMatchObject({ versionId, home: true });

  const seen = {
    list: await own.list(reader),
    get: await own.get('start', reader),
    home: await own.getHome(reader),
    listOf: await own.listOf(mockup.id, undefined, undefined),
    mockupAt: await own.mockupAt('start'),
    isThere: await own.isThere('start', reader, undefined),
    layout: await own.layoutOf(request, undefined),
    published: await own.publish('start', request, writer),
    takenBack: await own.takeBack('start', undefined),
  };
  await expect(others.get('start', reader)).resolves.toEqual(before);
  return seen;
}

const NO_PAGES = {
  list: [],
  listOf: [],
  isThere: false,
  takenBack: false,
};

/** What a tenant gets of the review of a mockup of another, which stays as it is. */
async function reviewSeenBy(
  own: ReviewStore,
  others: ReviewStore,
  { mockup, versionId }: Theirs,
) {
  const mockupId = mockup.id;
  const version = { mockupId, versionId };
  const bob = { user: BOB, author: BOB, allowed: undefined };
  const comment = await others.createComment(mockupId, { text: 'x' }, bob);
  await others.markReady(version, bob);
  await others.updateSettings({ reviewRequired: true }, BOB);
  await others.announceEditor(mockupId, bob);
  const state = async () => [
    await others.listComments(mockupId, undefined),
    await others.listReady(mockupId, undefined),
    await others.getSettings(),
    await others.announceEditor(mockupId, { ...bob, user: ALICE }),
  ];
  const before = await state();
  expect(before).toEqual([
    [comment],
    [expect.objectContaining({ versionId })],
    { reviewRequired: true },
    [BOB],
  ]);

  const its = { mockupId, id: comment!.id };
  const seen = {
    hasMockup: await own.hasMockup(mockupId, undefined),
    comments: await own.listComments(mockupId, undefined),
    created: await own.createComment(mockupId, { text: 'y' }, bob),
    resolved: await own.resolveComment(its, true, bob),
    deleted: await own.deleteComment(its, { ...bob, mayDelete: undefined }),
    has: await own.hasComment(its, undefined),
    ready: await own.listReady(mockupId, undefined),
    marked: await own.markReady(version, bob),
    unmarked: await own.unmarkReady(version, undefined),
    author: await own.authorOf(version, undefined),
    settings: await own.getSettings(),
    editors: await own.announceEditor(mockupId, bob),
  };
  await own.updateSettings({ reviewRequired: false }, BOB);
  expect(await state()).toEqual(before);
  return seen;
}

const NO_REVIEW = {
  hasMockup: false,
  comments: [],
  deleted: false,
  has: false,
  ready: [],
  unmarked: false,
  settings: { reviewRequired: false },
};

describe.each(databases.eachSupportedId())('mockups of tenants on %s', id => {
  let knex: Knex;
  let stores: MockupStores;

  beforeAll(async () => {
    knex = await databases.init(id);
    stores = await open(knex);
  });

  beforeEach(async () => {
    await knex('mockups').delete();
    logger.error.mockClear();
  });

  it('are kept apart by the predicates of the statements alone', async () => {
    const security = (state: 'enable' | 'disable') =>
      knex.raw(
        TABLES.map(
          table => `alter table ${table} ${state} row level security`,
        ).join(';'),
      );
    await security('disable');
    try {
      expect(
        await seenBy(stores.forTenant(ACME), stores.forTenant(GLOBEX)),
      ).toEqual(NOTHING);
    } finally {
      await security('enable');
    }
  });

  it('are kept apart by row-level security alone', async () => {
    const pool = withoutPredicates(await poolOf(knex, TENANT_ROLE));
    const store = (tenantId: string) =>
      new PostgresMockupStore({
        statements: new TenantStatements(pool, tenantId),
        imports: new ImportsUnderWay(),
      });
    expect(await seenBy(store(ACME), store(GLOBEX))).toEqual(NOTHING);
  });

  it('are read as the role that the policies bind', async () => {
    await knex.raw(`revoke select on mockups from ${TENANT_ROLE}`);
    try {
      await expect(stores.forTenant(ACME).list()).rejects.toMatchObject({
        sqlState: '42501',
      });
    } finally {
      await knex.raw(`grant select on mockups to ${TENANT_ROLE}`);
    }
  });

  it('are on no pages of another tenant, by the predicates and by row-level security, each alone', async () => {
    // The owner of the tables, whom no policy binds.
    const plain = await poolOf(knex);
    const bound = withoutPredicates(await poolOf(knex, TENANT_ROLE));
    for (const pool of [plain, bound]) {
      const pages = (tenantId: string) =>
        new PageStore(new TenantStatements(pool, tenantId));
      const theirs = await create(stores.forTenant(GLOBEX));
      expect(await pagesSeenBy(pages(ACME), pages(GLOBEX), theirs)).toEqual(
        NO_PAGES,
      );
      await knex('mockups').delete();
    }
  });

  it('have no review in another tenant, by the predicates and by row-level security, each alone', async () => {
    const plain = await poolOf(knex);
    const bound = withoutPredicates(await poolOf(knex, TENANT_ROLE));
    for (const pool of [plain, bound]) {
      const reviews = (tenantId: string) =>
        new ReviewStore(new TenantStatements(pool, tenantId));
      const theirs = await create(stores.forTenant(GLOBEX));
      expect(
        await reviewSeenBy(reviews(ACME), reviews(GLOBEX), theirs),
      ).toEqual(NO_REVIEW);
      await knex('mockups').delete();
      await knex('mockup_settings').delete();
    }
  });

  it('are neither read nor written by a statement of another tenant, on any of the tables', async () => {
    const { mockup } = await create(stores.forTenant(GLOBEX));
    const statements = await statementsOfAcme(knex);
    const run = (sql: string, ...values: string[]) =>
      statements.run(knex.raw(sql, values));
    for (const table of ['mockups', 'mockup_versions', 'mockup_search']) {
      await expect(run(`select * from ${table}`)).resolves.toEqual([]);
    }
    const refused = { sqlState: '42501' };
    await expect(
      run(
        'insert into mockups (tenant_id, name, owner) values (?, ?, ?)',
        GLOBEX,
        'x',
        ALICE,
      ),
    ).rejects.toMatchObject(refused);
    await expect(
      run(
        'insert into mockup_search (tenant_id, mockup_id, name) values (?, ?, ?)',
        GLOBEX,
        mockup.id,
        'x',
      ),
    ).rejects.toMatchObject(refused);
    await expect(
      run(
        `insert into mockup_versions (tenant_id, mockup_id, layout_data, created_by, created_at)
         values (?, ?, '[]', ?, now())`,
        GLOBEX,
        mockup.id,
        ALICE,
      ),
    ).rejects.toMatchObject(refused);
    const own = await create(stores.forTenant(ACME));
    // Not even of an own mockup: layouts and what is in the trash never change.
    for (const change of [
      "update mockup_versions set layout_data = '[]'",
      'update mockup_versions set created_by = created_by',
      'delete from mockup_versions',
      'update mockup_trash set name = name',
      'update mockup_trash_versions set created_by = created_by',
      'delete from mockup_trash_versions',
    ]) {
      await expect(run(change)).rejects.toMatchObject(refused);
    }
    await expect(
      run(
        'update mockups set tenant_id = ? where id = ?',
        GLOBEX,
        own.mockup.id,
      ),
    ).rejects.toMatchObject(refused);
  });

  it('carry the id of the transaction that writes them, which pages compare with snapshots', async () => {
    const statements = await statementsOfAcme(knex);
    const [row] = await statements.transaction(async transaction => {
      const run = (sql: string, values: string[] = []) =>
        transaction.query<{ same: boolean }>(transaction.knex.raw(sql, values));
      await run(
        `insert into mockups (tenant_id, name, owner) values (?, 'x', ?)`,
        [ACME, ALICE],
      );
      return run(
        'select xmin::text = pg_current_xact_id()::xid::text as same from mockups',
      );
    });
    expect(row).toEqual({ same: true });
  });

  it('are read-only while `tenant move` refuses the writes of their tenant', async () => {
    const acme = stores.forTenant(ACME);
    await knex.raw(`
      create function refuse() returns trigger language plpgsql as $$ begin
        raise exception 'moved' using errcode = 'read_only_sql_transaction',
          constraint = 'tenant_moves', detail = 'acme';
      end $$;
      create trigger refuse after insert on mockups
        for each row when (new.tenant_id = '${ACME}') execute function refuse()`);
    try {
      await expect(
        acme.create({ name: 'x' }, { owner: ALICE }),
      ).rejects.toMatchObject({
        name: 'ServiceUnavailableError',
        message:
          "The tenant 'acme' is read-only while it is moved: try again later",
        retryAfterSeconds: 10,
      });
      await expect(
        stores.forDefaultTenant().create({ name: 'x' }, { owner: ALICE }),
      ).resolves.toBeDefined();
    } finally {
      await knex.raw('drop function refuse cascade');
    }
  });

  it('have no versions and no text of another tenant, whoever writes them', async () => {
    const { mockup } = await create(stores.forTenant(GLOBEX));
    await expect(
      knex('mockup_versions').insert({
        tenant_id: ACME,
        mockup_id: mockup.id,
        layout_data: '[]',
        created_by: ALICE,
        created_at: '2026-01-01',
      }),
    ).rejects.toMatchObject({ constraint: 'mockup_versions_mockup_fkey' });
    await knex('mockup_search').delete();
    await expect(
      knex('mockup_search').insert({
        tenant_id: ACME,
        mockup_id: mockup.id,
        name: 'x',
      }),
    ).rejects.toMatchObject({ constraint: 'mockup_search_mockup_fkey' });
  });

  it('belong to the default tenant where the flag is off, which sees no others', async () => {
    await create(stores.forTenant(ACME));
    const off = await open(knex, { multiTenant: false });
    const store = off.forDefaultTenant();
    await expect(store.list()).resolves.toEqual({ items: [], totalItems: 0 });
    const theirs = await create(store, 'Basket');
    await expect(
      stores.forDefaultTenant().get(theirs.mockup.id),
    ).resolves.toBeDefined();
    expect(() => off.forTenant(ACME)).toThrow(
      `There are no mockups of the tenant ${ACME}: multi-tenancy is off`,
    );
  });

  it.each([undefined, null, '', 'acme', `${ACME}'`])(
    'are refused for the tenant %j',
    tenantId => {
      expect(() => stores.forTenant(tenantId as string)).toThrow(
        'is not a UUID such as "00000000-0000-0000-0000-000000000001"',
      );
    },
  );

  it('leave half of the connections to other tenants, however much one has under way', async () => {
    const four = createKnex({
      client: 'pg',
      connection: knex.client.config.connection,
      pool: { min: 0, max: 4 },
      acquireConnectionTimeout: 5_000,
    });
    try {
      const opened = await open(four);
      const acme = opened.forTenant(ACME);
      const { mockup } = await create(acme);
      const held = await knex.transaction();
      await held.raw('select from mockups where id = ? for update', [
        mockup.id,
      ]);
      const updates = Array.from({ length: 10 }, (_, i) =>
        acme.update(mockup.id, { name: `${i}` }),
      );
      await expect(opened.forTenant(GLOBEX).list()).resolves.toMatchObject({
        totalItems: 0,
      });
      await held.rollback();
      await Promise.all(updates);
    } finally {
      await four.destroy();
    }
  });
});

describe.each(databases.eachSupportedId())(
  'a database user on %s that owns the tables and is no superuser',
  id => {
    let admin: Knex;
    let knex: Knex;
    const login = `mockup_${randomBytes(6).toString('hex')}`;

    beforeAll(async () => {
      admin = await databases.init(id);
      // Otherwise the first test of a server would create it for all.
      await admin.raw(`
        do $$ begin create role ${TENANT_ROLE} nologin;
        exception when duplicate_object or unique_violation then null; end $$`);
      await admin.raw(`create role ${login} login password 'secret'`);
      const { connection } = admin.client.config;
      await admin.raw(
        `grant create on database ${connection.database} to ${login}`,
      );
      await admin.raw('create extension pg_trgm');
      await admin.raw(`create schema mockup authorization ${login}`);
      knex = createKnex({
        client: 'pg',
        connection: { ...connection, user: login, password: 'secret' },
        searchPath: ['mockup', 'public'],
      });
    });

    afterAll(async () => {
      await knex.destroy();
      await admin.raw(`drop owned by ${login} cascade`);
      await admin.raw(`drop role ${login}`);
    });

    beforeEach(async () => {
      logger.error.mockClear();
    });

    it('works without the role, and says what is missing and how to get it', async () => {
      const stores = await open(knex);
      expect(logger.error.mock.calls).toEqual([
        [
          `The database user ${login} of the mockup plugin may not act as the role ${TENANT_ROLE}, so only the predicates of its statements keep tenants apart. ` +
            `Have an administrator run "GRANT ${TENANT_ROLE} TO ${login};", and restart the backend.`,
        ],
      ]);
      expect(
        await seenBy(stores.forTenant(ACME), stores.forTenant(GLOBEX)),
      ).toEqual(NOTHING);
    });

    it('puts in the trash what a backend deletes that has no right to it', async () => {
      await admin.raw(`grant ${TENANT_ROLE} to ${login}`);
      const stores = await open(knex);
      const { mockup } = (await stores
        .forTenant(ACME)
        .create({ name: 'Deleted before' }, { owner: ALICE }))!;
      // Those of an earlier version of the plugin have none.
      await knex.raw(
        `revoke all on mockup_trash, mockup_trash_versions from ${TENANT_ROLE}`,
      );
      await (
        await statementsOfAcme(knex)
      ).run(knex.raw('delete from mockups where id = ?', [mockup.id]));
      // The next start gives the rights again.
      const { forTenant } = await open(knex);
      await expect(forTenant(ACME).restore(mockup.id)).resolves.toMatchObject({
        mockup: { name: 'Deleted before' },
      });
      await knex('mockups').delete();
      await admin.raw(`revoke ${TENANT_ROLE} from ${login}`);
    });

    it('acts as the role once it may, which the policies bind', async () => {
      await admin.raw(`grant ${TENANT_ROLE} to ${login}`);
      const stores = await open(knex);
      expect(logger.error).not.toHaveBeenCalled();
      await knex('mockups').delete();
      expect(
        await seenBy(stores.forTenant(ACME), stores.forTenant(GLOBEX)),
      ).toEqual(NOTHING);
      const rows = await (
        await statementsOfAcme(knex)
      ).run(knex.raw('select * from mockups'));
      expect(rows).toEqual([]);
      await admin.raw(`revoke ${TENANT_ROLE} from ${login}`);
    });

    it('needs no role where the policies are forced on it', async () => {
      await knex.raw(
        TABLES.map(
          table => `alter table ${table} force row level security`,
        ).join(';'),
      );
      logger.error.mockClear();
      const stores = await open(knex);
      expect(logger.error).not.toHaveBeenCalled();
      expect(
        await seenBy(
          stores.forTenant(ACME),
          stores.forTenant(DEFAULT_TENANT_ID),
        ),
      ).toEqual(NOTHING);
      // As a version that knows no tenants asks.
      const { rows } = await knex.raw('select distinct tenant_id from mockups');
      expect(rows).toEqual([{ tenant_id: DEFAULT_TENANT_ID }]);
    });
  },
);
