import { createTestDatabases } from '@internal/postgres/testUtils';
import { forEachTest } from '../__testUtils__/forEachTest';
import { column, differences, faultsOf, refsOf } from './__testUtils__/inspect';
import { createStockCatalog } from './__testUtils__/stockCatalog';
import { adopt, retryFaults } from './library';

const databases = createTestDatabases();

const WITH_NUL = '{"metadata":{"description":"\\u0000"}}';
const LONE_SURROGATE = '{"metadata":{"description":"\\ud83d"}}';

describe.each(databases.eachSupportedId())(
  'what cannot be carried on %s',
  id => {
    const catalog = forEachTest(() => createStockCatalog(databases, id));

    const bad = [
      { ref: 'component:default/nul', json: WITH_NUL },
      { ref: 'component:default/surrogate', json: LONE_SURROGATE },
      { ref: 'component:default/no-uuid', id: 'not-a-uuid' },
      {
        ref: 'component:default/upper',
        id: '3F2504E0-4F89-41D3-9A0C-0305E82C3301',
      },
      { ref: 'no ref at all' },
      { ref: 'component:default/a/b' },
      { ref: 'component:default/number', json: '{"n": 1e999999}' },
      { ref: 'component:default/no-json', json: '{' },
      { ref: 'component:default/no-object', json: '[]' },
    ];

    it.each([
      ['before', 'the first copy'],
      ['after', 'a change'],
    ])('is kept aside with its reason (%s the adoption)', async when => {
      const { engine, connection } = catalog;
      if (when === 'after') {
        await adopt({ connection });
      }
      for (const entity of bad) {
        await engine.ingest(entity);
      }
      await engine.ingest({ ref: 'component:default/good' });
      expect(await adopt({ connection })).toMatchObject({
        adopted: true,
        faults: bad.length,
      });
      expect(await refsOf(catalog)).toEqual(['component:default/good']);
      expect(await differences(catalog)).toEqual([]);
      const faults = await faultsOf(catalog);
      const refs = await column<string>(
        catalog,
        `select entity_ref from public.final_entities
          where entity_id in (select key from adoption_faults where source = 'final_entities')
          order by 1`,
      );
      expect(refs).toEqual(bad.map(({ ref }) => ref).sort());
      const reasons = faults.map(({ reason }) => reason).sort();
      expect(reasons).toEqual(
        expect.arrayContaining([
          'the entity is no JSON object',
          'the entity_id "not-a-uuid" is no UUID in lower case',
          'the entity_ref "no ref at all" is not of the form kind:namespace/name',
          'unsupported Unicode escape sequence',
        ]),
      );
    });

    it.each([
      ['relations', 'relations'],
      ['entity_parents', 'refresh_state_references'],
    ])(
      "does not hold up the engine where rows of %s can't be deleted",
      async (ours, theirs) => {
        const { engine, knex, connection, client } = catalog;
        await adopt({ connection });
        const ref = 'component:default/a';
        await engine.ingest({
          ...{ ref, parent: ref },
          relations: [['ownedBy', 'group:default/g']],
        });
        await client.query(`
          create function keep() returns trigger language plpgsql
            as 'begin return null; end';
          create trigger keep before delete on ${ours}
            for each row execute function keep()`);
        await knex(theirs).delete();
        expect(await faultsOf(catalog)).toMatchObject([
          {
            source: theirs,
            reason: expect.stringContaining("can't be deleted"),
          },
        ]);
        await client.query(`drop trigger keep on ${ours}`);
        expect(await retryFaults({ connection })).toMatchObject({ faults: 0 });
        expect(await differences(catalog)).toEqual([]);
      },
    );

    it('is shown no more as it was before', async () => {
      const { engine, connection } = catalog;
      const entity = { ref: 'component:default/a' };
      const entityId = await engine.ingest(entity);
      await adopt({ connection });
      await engine.stitch(entityId, { ...entity, json: WITH_NUL });
      expect(await refsOf(catalog)).toEqual([]);
      await engine.stitch(entityId, { ...entity, json: WITH_NUL });
      expect(await faultsOf(catalog)).toEqual([
        {
          source: 'final_entities',
          key: entityId,
          reason: 'unsupported Unicode escape sequence',
          sqlstate: '22P05',
          attempts: 2,
        },
      ]);
    });

    it('is carried by the next write that can be', async () => {
      const { engine, connection } = catalog;
      const entity = {
        ref: 'component:default/a',
        relations: [['ownedBy', 'group:default/g']] as [string, string][],
      };
      const entityId = await engine.ingest({ ...entity, json: WITH_NUL });
      await adopt({ connection });
      await engine.stitch(entityId, entity);
      expect(await faultsOf(catalog)).toEqual([]);
      expect(await refsOf(catalog)).toEqual([entity.ref]);
      expect(await differences(catalog)).toEqual([]);
    });

    it('is tried again without anything else', async () => {
      const { engine, connection, client } = catalog;
      expect(await retryFaults({ connection })).toMatchObject({ begun: false });
      const entity = { ref: 'component:default/a' };
      await adopt({ connection });
      await client.query(
        `alter table entities add constraint no check (entity_name <> 'a')`,
      );
      await engine.ingest(entity);
      await engine.ingest({ ref: 'component:default/nul', json: WITH_NUL });
      await engine.ingest({ ref: 'component:default/b' });
      await client.query(
        `alter table entities drop constraint no;
         update entities set hash = 'somebody''s' where entity_name = 'b'`,
      );
      expect(await retryFaults({ connection })).toMatchObject({ faults: 1 });
      expect(await refsOf(catalog)).toEqual([
        entity.ref,
        'component:default/b',
      ]);
      expect(await faultsOf(catalog)).toMatchObject([{ attempts: 2 }]);
      expect(
        await column(
          catalog,
          `select hash from entities where entity_name = 'b'`,
        ),
      ).toEqual([`somebody's`]);
    });

    it('is tried again a thousand at a time, those first that were tried the longest ago', async () => {
      const { connection, client } = catalog;
      await adopt({ connection });
      await client.query(
        `insert into adoption_faults (source, key, reason, sqlstate, last_seen_at)
         select 'final_entities', gen_random_uuid(), 'fault ' || n, '22P05', now() - n * interval '1 s'
           from generate_series(1, 1001) n`,
      );
      expect(await retryFaults({ connection })).toMatchObject({ faults: 1 });
      expect(await faultsOf(catalog)).toMatchObject([{ reason: 'fault 1' }]);
      expect(await retryFaults({ connection })).toMatchObject({ faults: 0 });
    });

    it('is looked for among all where it is not known what it is', async () => {
      const { engine, connection, client } = catalog;
      await adopt({ connection });
      await engine.ingest({ ref: 'location:default/l' });
      await engine.ingest({
        ref: 'component:default/a',
        parent: 'location:default/l',
      });
      await client.query(
        `insert into adoption_faults (source, key, reason, sqlstate)
         values ('relations', '* of process 1', '', ''),
                ('refresh_state_references', '* of process 1', '', '');
         delete from entities; delete from entity_parents`,
      );
      expect(await retryFaults({ connection })).toMatchObject({ faults: 0 });
      expect(await differences(catalog)).toEqual([]);
      expect(await refsOf(catalog)).toEqual([
        'component:default/a',
        'location:default/l',
      ]);
    });

    it('is forgotten with its entity', async () => {
      const { engine, connection } = catalog;
      await adopt({ connection });
      await engine.ingest({ ref: 'component:default/a', json: WITH_NUL });
      await engine.remove('component:default/a');
      expect(await faultsOf(catalog)).toEqual([]);
    });

    it('is the errors alone where only those cannot be', async () => {
      const { engine, connection } = catalog;
      const entity = { ref: 'component:default/a' };
      const entityId = await engine.ingest(entity);
      await adopt({ connection });
      await engine.process(entityId, {
        ...entity,
        errors: '[{"message":"\\u0000"}]',
      });
      expect(await refsOf(catalog)).toEqual([entity.ref]);
      expect(await faultsOf(catalog)).toMatchObject([
        { source: 'refresh_state', key: entityId },
      ]);
      expect(await differences(catalog)).toEqual([]);
      await engine.process(entityId, entity);
      expect(await faultsOf(catalog)).toEqual([]);
      expect(await differences(catalog)).toEqual([]);
    });

    it.each([
      ['our tables are gone', 'drop table entities cascade'],
      ['faults cannot be kept', 'drop table entities, adoption_faults cascade'],
      [
        'columns of the engine are other ones',
        `alter table public.final_entities rename column last_updated_at to changed_at;
         alter table public.refresh_state rename column errors to problems`,
      ],
      ['the schema is dropped', 'drop schema tenancy cascade'],
      [
        'the schema has another name',
        'alter schema tenancy rename to elsewhere',
      ],
      [
        'nothing may be written',
        `create function no() returns trigger language plpgsql as
           $$ begin raise exception 'no'; end $$;
         create trigger no before insert or update or delete on entities execute function no()`,
      ],
    ])('never fails the engine, not even where %s', async (_, damage) => {
      const { engine, connection, client, knex } = catalog;
      const entityId = await engine.ingest({ ref: 'component:default/a' });
      await adopt({ connection });
      await client.query(damage);
      // Whatever the names of the columns are.
      await knex('refresh_state').update({ location_key: 'url:new' });
      await knex('final_entities').update({ hash: 'new' });
      await knex('relations').insert({
        originating_entity_id: entityId,
        source_entity_ref: 'component:default/a',
        type: 'ownedBy',
        target_entity_ref: 'group:default/g',
      });
      await knex('relations').delete();
      await knex('refresh_state').delete();
      await knex.raw('truncate refresh_state cascade');
      expect(await knex('final_entities')).toEqual([]);
    });
  },
);
