import type { Entity } from '@backstage/catalog-model';
import { createTestDatabases } from '@internal/postgres/testUtils';
import {
  type CatalogDatabase,
  component,
  createCatalogDatabase,
  partitionsLocked,
} from '../__testUtils__/catalogDatabase';
import { PooledTenantDatabase } from '../../database/PooledTenantDatabase';
import { type TenantTransaction } from '../../database/TenantDatabase';
import { DEFAULT_TENANT_ID } from '../../tenants/Tenant';
import type { CatalogMutation } from '../CatalogStore';
import { PostgresCatalogStore } from '../PostgresCatalogStore';

const NOTHING = {
  inserted: 0,
  updated: 0,
  revived: 0,
  unchanged: 0,
  deleted: 0,
};

function owned(name: string, ...owners: string[]): Entity {
  return component(name, {
    relations: owners.map(owner => ({
      type: 'ownedBy',
      targetRef: `Group:default/${owner}`,
    })),
  });
}

function many(count: number): Entity[] {
  return Array.from({ length: count }, (_, index) => component(`c${index}`));
}

describe('applyMutation', () => {
  const databases = createTestDatabases({ citus: true });

  describe.each(databases.eachSupportedId())('on %p', id => {
    // Citus has shards in place of partitions, takes no trigger of others, and one command at
    // a time.
    const itOnOneServer = id === 'CITUS' ? it.skip : it;
    let catalog: CatalogDatabase;
    let tenantId: string;

    const apply = (mutation: CatalogMutation) =>
      catalog.store.applyMutation(tenantId, mutation);
    const full = (entities: Entity[], source?: string) =>
      apply({ type: 'full', entities, source });
    const delta = (added: Entity[], removed: string[] = [], source?: string) =>
      apply({
        type: 'delta',
        added,
        removed: removed.map(name => ({
          entityRef: `component:default/${name}`,
        })),
        source,
      });
    const rows = async <T extends object>(sql: string): Promise<T[]> =>
      (await catalog.client.query<T>(sql, [tenantId])).rows;
    const live = async () =>
      (
        await rows<{ name: string }>(
          `select entity_name as name from entities
            where tenant_id = $1 and deleted_at is null order by 1`,
        )
      ).map(({ name }) => name);
    const relations = async () =>
      (
        await rows<{ text: string }>(
          `select concat_ws(' ', source_entity_ref, type, target_entity_ref) as text
             from relations r join entities e
               on e.tenant_id = r.tenant_id and e.entity_id = r.originating_entity_id
              and e.entity_ref = r.source_entity_ref
            where r.tenant_id = $1 order by 1`,
        )
      ).map(({ text }) => text);
    const sources = () =>
      rows<{ name: string; source: string | null }>(
        `select entity_name as name, location_key as source
           from refresh_state r join entities e using (tenant_id, entity_id)
          where tenant_id = $1 order by 1`,
      );
    const limitTo = (maxEntities: number | null) =>
      catalog.client.query(
        'update tenants set max_entities = $2 where tenant_id = $1',
        [tenantId, maxEntities],
      );

    beforeAll(async () => {
      catalog = await createCatalogDatabase(databases, id);
    });

    beforeEach(async () => {
      tenantId = await catalog.createTenant();
    });

    afterAll(() => catalog?.close());

    it('writes entities with their relations and refresh state', async () => {
      await expect(
        full([owned('A', 'x', 'X', 'y'), component('b')], 'provider'),
      ).resolves.toEqual({ ...NOTHING, inserted: 2 });
      const [row] = await rows<Record<string, unknown>>(
        `select * from entities where tenant_id = $1 order by entity_ref limit 1`,
      );
      expect(row).toMatchObject({
        entity_ref: 'component:default/a',
        entity_kind: 'component',
        entity_namespace: 'default',
        entity_name: 'a',
        deleted_at: null,
        final_entity: {
          ...owned('A', 'x', 'X', 'y'),
          metadata: { name: 'A', uid: row.entity_id, etag: row.hash },
        },
      });
      await expect(relations()).resolves.toEqual([
        'component:default/a ownedBy group:default/x',
        'component:default/a ownedBy group:default/y',
      ]);
      await expect(sources()).resolves.toEqual([
        { name: 'a', source: 'provider' },
        { name: 'b', source: 'provider' },
      ]);
    });

    it('rewrites only what has changed', async () => {
      const versions = () =>
        rows<{ name: string; version: string }>(
          `select entity_name as name, xmin || ' ' || ctid as version
             from entities where tenant_id = $1
           union all
           select 'relation ' || source_entity_ref, xmin || ' ' || ctid
             from relations where tenant_id = $1
           union all
           select 'state ' || entity_id, xmin || ' ' || ctid
             from refresh_state where tenant_id = $1 order by 1, 2`,
        );
      await full([owned('a', 'x'), owned('b', 'x')]);
      const before = await versions();
      await expect(full([owned('a', 'x'), owned('b', 'x')])).resolves.toEqual({
        ...NOTHING,
        unchanged: 2,
      });
      await expect(versions()).resolves.toEqual(before);

      await expect(full([owned('a', 'x'), owned('b', 'y')])).resolves.toEqual({
        ...NOTHING,
        unchanged: 1,
        updated: 1,
      });
      const after = await versions();
      const ofA = (all: typeof before) =>
        all.filter(({ name }) =>
          ['a', 'relation component:default/a'].includes(name),
        );
      expect(ofA(after)).toEqual(ofA(before));
      await expect(relations()).resolves.toEqual([
        'component:default/a ownedBy group:default/x',
        'component:default/b ownedBy group:default/y',
      ]);
    });

    it('keeps id and creation of an entity that changes', async () => {
      const identity = () =>
        rows<object>(
          'select entity_id, created_at from entities where tenant_id = $1',
        );
      await full([component('a')]);
      const before = await identity();
      await full([component('a', { spec: { changed: true } })]);
      await full([]);
      await expect(full([component('a')])).resolves.toEqual({
        ...NOTHING,
        revived: 1,
      });
      await expect(identity()).resolves.toEqual(before);
      await expect(
        catalog.store.getEntity(tenantId, 'component:a'),
      ).resolves.toMatchObject({ metadata: { name: 'a' } });
    });

    it('leaves no relations and no refresh state of a deleted entity', async () => {
      await full([owned('a', 'x'), owned('b', 'x')]);
      await expect(full([owned('b', 'x')])).resolves.toEqual({
        ...NOTHING,
        unchanged: 1,
        deleted: 1,
      });
      await expect(live()).resolves.toEqual(['b']);
      await expect(relations()).resolves.toEqual([
        'component:default/b ownedBy group:default/x',
      ]);
      await expect(sources()).resolves.toEqual([{ name: 'b', source: null }]);

      await full([owned('a', 'y'), owned('b', 'x')]);
      await expect(relations()).resolves.toEqual([
        'component:default/a ownedBy group:default/y',
        'component:default/b ownedBy group:default/x',
      ]);
    });

    it('deletes by a full mutation what is not in it, of its source alone', async () => {
      await full([component('a'), component('b')], 'one');
      await full([component('c')], 'two');
      await full([component('d')]);
      await expect(full([component('b')], 'one')).resolves.toEqual({
        ...NOTHING,
        unchanged: 1,
        deleted: 1,
      });
      await expect(live()).resolves.toEqual(['b', 'c', 'd']);
      await full([]);
      await expect(live()).resolves.toEqual(['b', 'c']);
    });

    it('changes by a delta what it names', async () => {
      await full([component('a'), component('b')]);
      await expect(
        delta([component('c')], ['A', 'nobody', 'a']),
      ).resolves.toEqual({ ...NOTHING, inserted: 1, deleted: 1 });
      await expect(delta([], ['a'])).resolves.toEqual(NOTHING);
      await expect(live()).resolves.toEqual(['b', 'c']);
    });

    it('refuses entities of another source, and takes those of none', async () => {
      await full([component('a')], 'one');
      await full([component('b')]);
      const conflict = {
        name: 'ConflictError',
        message:
          'Entity "component:default/a" belongs to another source, "one"',
      };
      const other = component('a', { spec: { other: true } });
      await expect(full([other], 'two')).rejects.toMatchObject(conflict);
      await expect(full([component('a')], 'two')).rejects.toMatchObject(
        conflict,
      );
      await expect(full([other])).rejects.toMatchObject(conflict);
      await expect(delta([], ['a'], 'two')).rejects.toMatchObject(conflict);

      await expect(delta([component('b')], [], 'two')).resolves.toEqual({
        ...NOTHING,
        unchanged: 1,
      });
      await expect(sources()).resolves.toEqual([
        { name: 'a', source: 'one' },
        { name: 'b', source: 'two' },
      ]);
      // Nobody owns an entity that is deleted.
      await full([], 'one');
      await full([component('a'), component('b')], 'two');
      await expect(sources()).resolves.toEqual([
        { name: 'a', source: 'two' },
        { name: 'b', source: 'two' },
      ]);
    });

    it('takes over what others wrote', async () => {
      await catalog.adopt(tenantId, [
        { name: 'a', finalEntity: 'null' },
        { name: 'b', finalEntity: '{}' },
      ]);
      await expect(full([component('a')])).resolves.toEqual({
        ...NOTHING,
        updated: 1,
        deleted: 1,
      });
      await expect(sources()).resolves.toEqual([{ name: 'a', source: null }]);
    });

    it('writes nothing of a mutation with an invalid entity', async () => {
      await full([component('kept')]);
      const invalid = component('bad', { spec: { a: '\0' } });
      await expect(
        full([component('a'), invalid, component('z')]),
      ).rejects.toMatchObject({ name: 'InputError' });
      await expect(live()).resolves.toEqual(['kept']);
    });

    it('refuses 1e400 by its path, where JSON.stringify would write null', async () => {
      await full([component('kept', { spec: { ratio: 1.5 } })]);
      const spec = JSON.parse('{"limits":[{"ratio":1e400}]}');
      await expect(full([component('kept', { spec })])).rejects.toMatchObject({
        name: 'InputError',
        message: expect.stringContaining(
          'Invalid entity "component:default/kept": spec.limits[0].ratio: Infinity',
        ),
      });
      await expect(
        catalog.store.getEntity(tenantId, 'component:default/kept'),
      ).resolves.toMatchObject({ spec: { ratio: 1.5 } });
    });

    it('stores the numbers that JSON has, and reads the same ones', async () => {
      const numbers = [1.5, -0, 5e-324, 1.7976931348623157e308, 2 ** 53 - 1];
      await full([component('a', { spec: { numbers } })]);
      const entity = await catalog.store.getEntity(
        tenantId,
        'component:default/a',
      );
      expect(entity?.spec?.numbers).toEqual([
        1.5,
        0,
        5e-324,
        1.7976931348623157e308,
        2 ** 53 - 1,
      ]);
    });

    it('writes nothing of a mutation that fails in the middle', async () => {
      await full([owned('kept', 'x')]);
      await catalog.client.query(
        `alter table relations add constraint no_trouble
           check (target_entity_ref <> 'group:default/trouble')`,
      );
      try {
        await expect(
          full([owned('a', 'x'), owned('b', 'trouble')]),
        ).rejects.toThrow('The database refused a statement');
      } finally {
        await catalog.client.query(
          'alter table relations drop constraint no_trouble',
        );
      }
      await expect(live()).resolves.toEqual(['kept']);
      await expect(relations()).resolves.toHaveLength(1);
    });

    it('writes 5,000 entities at once, and 5,000 changes', async () => {
      await expect(full(many(5000))).resolves.toEqual({
        ...NOTHING,
        inserted: 5000,
      });
      const changed = many(5000).map(entity => ({ ...entity, spec: { v: 2 } }));
      await expect(full(changed)).resolves.toEqual({
        ...NOTHING,
        updated: 5000,
      });
    });

    /** A store on a connection of its own, and what is seen at the end of a mutation. */
    const storeSeeing = (see: (transaction: TenantTransaction) => unknown) => {
      const database = new PooledTenantDatabase(catalog.createPool());
      return new PostgresCatalogStore({
        pool: catalog.pool,
        database: {
          query: (tenant, build) => database.query(tenant, build),
          transaction: (tenant, work) =>
            database.transaction(tenant, async transaction => {
              const result = await work(transaction);
              await see(transaction);
              return result;
            }),
        },
      });
    };

    itOnOneServer(
      'locks no partition of another tenant, on whichever connection',
      async () => {
        let locked: string[] = [];
        const store = storeSeeing(async transaction => {
          locked = await partitionsLocked(transaction);
        });
        // PostgreSQL tries another plan at the sixth check of a foreign key.
        await store.applyMutation(tenantId, {
          type: 'full',
          entities: Array.from({ length: 10 }, (_, index) =>
            owned(`e${index}`, 'a', 'b'),
          ),
        });
        expect(locked).toEqual([
          'entities_catch_all',
          'refresh_state_catch_all',
          'relations_catch_all',
        ]);
      },
    );

    it('is not waited for by others once its process is silent', async () => {
      let seen: object[] = [];
      const store = storeSeeing(async ({ knex, query }) => {
        seen = await query(
          knex.raw(
            `select current_setting('idle_in_transaction_session_timeout') as timeout`,
          ),
        );
      });
      await store.applyMutation(tenantId, { type: 'full', entities: [] });
      expect(seen).toEqual([{ timeout: '1min' }]);
    });

    it('refuses a tenant id that is none', async () => {
      for (const none of ['', 'default', undefined as unknown as string]) {
        await expect(
          catalog.store.applyMutation(none, { type: 'full', entities: [] }),
        ).rejects.toMatchObject({ name: 'InputError' });
      }
    });

    it('writes entities that are large, one statement after another', async () => {
      const text = '"\\'.repeat(1024 * 1024);
      const large = ['a', 'b', 'c'].map(name =>
        component(name, { spec: { text } }),
      );
      await full(large);
      await full(large.map(entity => ({ ...entity, spec: { text, v: 2 } })));
      await expect(
        catalog.store.getEntity(tenantId, 'component:c'),
      ).resolves.toMatchObject({ spec: { text, v: 2 } });
    });

    describe('max_entities', () => {
      const refused = (would: number, may: number) => ({
        name: 'NotAllowedError',
        message: `The tenant would have ${would} entities, and may have ${may} (max_entities)`,
      });

      it('lets a tenant have exactly so many live entities', async () => {
        await limitTo(3);
        await full(many(3));
        await expect(full(many(4))).rejects.toMatchObject(refused(4, 3));
        await expect(delta([component('x')])).rejects.toMatchObject(
          refused(4, 3),
        );
        await expect(live()).resolves.toHaveLength(3);
        await delta([component('x')], ['c0']);
        await expect(live()).resolves.toEqual(['c1', 'c2', 'x']);
        await limitTo(null);
        await full(many(4));
      });

      it('counts revived entities, and not deleted ones', async () => {
        await limitTo(2);
        await full(many(2));
        await full([component('x'), component('y')]);
        await expect(delta(many(1))).rejects.toMatchObject(refused(3, 2));
        await delta([], ['x']);
        await expect(delta(many(1))).resolves.toEqual({
          ...NOTHING,
          revived: 1,
        });
      });

      it('counts the entities of all sources', async () => {
        await limitTo(2);
        await full(many(2), 'one');
        await expect(full([component('x')], 'two')).rejects.toMatchObject(
          refused(3, 2),
        );
      });

      it('lets a tenant change and lose entities above a lowered limit', async () => {
        await full(many(3));
        await limitTo(1);
        const [first, ...others] = many(3);
        await full([{ ...first, spec: { changed: true } }, ...others]);
        await delta([component('x')], ['c0']);
        await delta([], ['c1']);
        await expect(delta([component('y')])).rejects.toMatchObject(
          refused(3, 1),
        );
      });
    });

    describe('at the same time', () => {
      it('lets mutations of a tenant wait for each other', async () => {
        const other = catalog.createPool();
        const stores = [
          catalog.store,
          // As in another process.
          new PostgresCatalogStore({
            database: new PooledTenantDatabase(other),
            pool: other,
          }),
        ];
        await limitTo(5);
        const results = await Promise.allSettled(
          Array.from({ length: 20 }, (_, index) =>
            stores[index % 2].applyMutation(tenantId, {
              type: 'delta',
              added: [
                component(`own${index}`),
                component('shared', { spec: { index } }),
              ],
              removed: [],
            }),
          ),
        );
        const outcomes = results.map(result =>
          result.status === 'fulfilled' ? 'done' : result.reason.name,
        );
        expect(outcomes.filter(outcome => outcome === 'done')).toHaveLength(4);
        expect(new Set(outcomes)).toEqual(new Set(['done', 'NotAllowedError']));
        await expect(live()).resolves.toHaveLength(5);
      });

      it('lets two tenants write the same refs', async () => {
        const tenants = [tenantId, await catalog.createTenant()];
        await Promise.all(
          tenants.flatMap(tenant =>
            [1, 2, 3].map(version =>
              catalog.store.applyMutation(tenant, {
                type: 'full',
                entities: many(200).map(entity => ({
                  ...entity,
                  spec: { tenant, version },
                })),
              }),
            ),
          ),
        );
        for (const tenant of tenants) {
          const entities = await catalog.store.queryEntities(tenant);
          expect(entities).toHaveLength(200);
          expect(new Set(entities.map(({ spec }) => spec?.tenant))).toEqual(
            new Set([tenant]),
          );
        }
      });

      it('does not let the mutations of one tenant take every connection', async () => {
        const pool = catalog.createPool({ limits: { max: 2 } });
        const store = new PostgresCatalogStore({
          database: new PooledTenantDatabase(pool),
          pool,
        });
        await catalog.client.query('begin');
        let waiting: Promise<unknown> | undefined;
        try {
          await catalog.client.query(
            `select pg_advisory_xact_lock(hashtextextended($1, 0))`,
            [`catalog-tenancy:entities:${tenantId}`],
          );
          waiting = Promise.all(
            [1, 2, 3].map(() =>
              store.applyMutation(tenantId, { type: 'full', entities: [] }),
            ),
          );
          await expect(
            store.getEntity(await catalog.createTenant(), 'a:b'),
          ).resolves.toBeUndefined();
        } finally {
          await catalog.client.query('commit');
        }
        await waiting;
      });
    });

    describe('a tenant that is not active', () => {
      const remove = () =>
        catalog.client.query(
          'update tenants set deleted_at = now() where tenant_id = $1',
          [tenantId],
        );

      it('takes no mutation', async () => {
        await full([component('a')]);
        await remove();
        await expect(full([])).rejects.toMatchObject({
          name: 'NotFoundError',
          message: `There is no active tenant ${tenantId}`,
        });
        await expect(live()).resolves.toEqual(['a']);
        tenantId = 'ffffffff-ffff-4fff-8fff-ffffffffffff';
        await expect(full([])).rejects.toMatchObject({ name: 'NotFoundError' });
      });

      itOnOneServer(
        'takes none that was under way when it was deleted',
        async () => {
          // It deletes the tenant while the mutation writes.
          await catalog.client.query(`
          create function leave() returns trigger language plpgsql security definer
            set search_path from current as $$
          begin
            update tenants set deleted_at = now()
             where tenant_id = new.tenant_id and new.entity_name = 'leaver';
            return new;
          end $$;
          create trigger leave before insert on entities
            for each row execute function leave()`);
          try {
            await expect(
              full([component('a'), component('leaver')]),
            ).rejects.toMatchObject({ name: 'NotFoundError' });
          } finally {
            await catalog.client.query('drop function leave cascade');
          }
          await expect(live()).resolves.toEqual([]);
        },
      );
    });

    describe('tables of an existing catalog', () => {
      beforeEach(() =>
        catalog.client.query('truncate entities, relations, refresh_state'),
      );

      const runEach = async (statements: string) => {
        for (const statement of statements.split(';')) {
          await catalog.client.query(statement);
        }
      };
      const changed = async (
        change: string,
        undo: string,
        use: () => Promise<void>,
      ) => {
        await runEach(change);
        try {
          await use();
        } finally {
          await runEach(undo);
        }
      };
      // One that has not found the tables to be writable yet.
      const freshStore = () => {
        return new PostgresCatalogStore({
          database: catalog.database,
          pool: catalog.pool,
        });
      };

      it.each([
        [
          'alter table refresh_state rename location_key to owner; alter table relations rename type to kind',
          'alter table refresh_state rename owner to location_key; alter table relations rename kind to type',
          'relations has no column type; relations wants a value for kind; refresh_state has no column location_key',
        ],
        [
          `alter table relations add weight int not null default 1;
           alter table relations alter weight drop default`,
          'alter table relations drop weight',
          'relations wants a value for weight',
        ],
        [
          'create unique index one_each on refresh_state (tenant_id, location_key)',
          'drop index one_each',
          'refresh_state allows one row only for each location_key',
        ],
      ])(
        'are refused if they cannot be written: %s',
        async (change, undo, fault) => {
          await changed(change, undo, async () => {
            const store = freshStore();
            const mutation = {
              type: 'full' as const,
              entities: [component('a')],
            };
            await expect(
              store.applyMutation(tenantId, mutation),
            ).rejects.toMatchObject({
              name: 'NotImplementedError',
              message: `Entities can't be written to the tables of this catalog: ${fault}`,
            });
            await expect(store.queryEntities(tenantId)).resolves.toEqual([]);
            await expect(
              store.getEntity(tenantId, 'component:a'),
            ).resolves.toBeUndefined();
          });
        },
      );

      it.each(['the default tenant', 'another tenant'])(
        'are written by the engine of an adopted catalog, and by nobody else: of %s',
        async which => {
          const isDefault = which === 'the default tenant';
          const mutation = {
            type: 'full' as const,
            entities: [component('a')],
          };
          const [adopted, other] = isDefault
            ? [DEFAULT_TENANT_ID, tenantId]
            : [tenantId, DEFAULT_TENANT_ID];
          await changed(
            `create schema engine;
             create table engine.final_entities ();
             create trigger t after truncate on engine.final_entities
               execute function adoption_on_final_entities(${
                 isDefault ? '' : `'${tenantId}'`
               })`,
            'drop schema engine cascade',
            async () => {
              const store = freshStore();
              await expect(
                store.applyMutation(adopted, mutation),
              ).rejects.toMatchObject({
                name: 'ConflictError',
                message: expect.stringContaining('its engine writes them'),
              });
              await expect(store.queryEntities(adopted)).resolves.toEqual([]);
              await expect(
                store.applyMutation(other, mutation),
              ).resolves.toMatchObject({ inserted: 1 });
            },
          );
          await expect(
            freshStore().applyMutation(adopted, mutation),
          ).resolves.toMatchObject({ inserted: 1 });
        },
      );

      it('may have other columns', async () => {
        await changed(
          `alter table relations add weight int default 1, add noted_at timestamptz not null default now()`,
          'alter table relations drop weight, drop noted_at',
          async () => {
            const store = freshStore();
            await store.applyMutation(tenantId, {
              type: 'full',
              entities: [owned('a', 'x')],
            });
            await expect(relations()).resolves.toHaveLength(1);
          },
        );
      });
    });
  });
});
