import { databaseSnapshot } from '@internal/catalog-testing/databaseSnapshot';
import { createTestDatabases } from '@internal/postgres/testUtils';
import { adopt } from 'backstage-catalog-tenancy-migrations';
import type { Knex } from 'knex';
import { LiveDatabase } from './__testUtils__/LiveDatabase';
import { runCommand } from './__testUtils__/migrations';
import { differences, faults } from './__testUtils__/sides';
import {
  asEngine,
  deleteOne,
  migrateOne,
  migrateStock,
  seedEngine,
  writeAsEngine,
} from './__testUtils__/StockTables';

// An adopted catalog goes on being one of the stock plugin, which migrates its tables
// when it starts, with a login that owns them and knows nothing of tenants.

const databases = createTestDatabases({ versions: 'newest' });

async function stockDatabase(): Promise<LiveDatabase> {
  const database = await LiveDatabase.create(databases, 'POSTGRES_18');
  await asEngine(database, migrateStock);
  await database.use(seedEngine);
  return database;
}

async function adopted(): Promise<LiveDatabase> {
  const database = await stockDatabase();
  await adopt({ connection: database.admin });
  return database;
}

async function migrateAll(
  knex: Knex,
  direction: 'up' | 'down',
  afterEach: () => Promise<void> = async () => {},
): Promise<string[]> {
  const names: string[] = [];
  for (;;) {
    const name = await migrateOne(knex, direction);
    if (!name) {
      return names;
    }
    names.push(name);
    await afterEach();
  }
}

describe('the migrations of the stock catalog after adoption', () => {
  it('run as without it, down to the first and up to the newest, and the engine writes after each', async () => {
    const plain = await stockDatabase();
    const database = await adopted();
    const alone = await asEngine(plain, async knex => [
      ...(await migrateAll(knex, 'down')),
      ...(await migrateAll(knex, 'up')),
    ]);
    const beside = await asEngine(database, async knex => {
      const write = () => writeAsEngine(knex);
      await write();
      return [
        ...(await migrateAll(knex, 'down', write)),
        ...(await migrateAll(knex, 'up', write)),
      ];
    });
    expect(beside).toEqual(alone);
    expect(beside.length).toBeGreaterThan(80);

    // The tables are new ones, and empty.
    await adopt({ connection: database.admin });
    expect(await differences(database, false)).toEqual([]);
    await database.use(seedEngine);
    expect(await differences(database, false)).toEqual([]);
    expect(await faults(database)).toEqual([]);
    await runCommand(database.url, ['rollback', '--to', '0']);
    const ownerless = (lines: string[], { engine }: LiveDatabase) =>
      lines.map(line => line.replaceAll(engine.user, 'engine'));
    expect(ownerless(await databaseSnapshot(database), database)).toEqual(
      ownerless(await databaseSnapshot(plain), plain),
    );
  });
});

/** What a release of the future might do to its tables, and how that is undone. */
interface Change {
  what: string;
  up: string;
  down: string;
  /** What can't be carried as long as it is so. */
  inTheWayOf?: string;
}

const CHANGES: Change[] = [
  {
    what: 'keeps entities as jsonb',
    inTheWayOf: 'final_entities',
    up: 'alter table final_entities alter column final_entity type jsonb using final_entity::jsonb',
    down: 'alter table final_entities alter column final_entity type text',
  },
  {
    what: 'keeps errors as jsonb',
    inTheWayOf: 'refresh_state',
    up: `alter table refresh_state alter column errors type jsonb using errors::jsonb`,
    down: 'alter table refresh_state alter column errors type text',
  },
  {
    what: 'has shorter hashes',
    up: 'alter table final_entities alter column hash type varchar(60)',
    down: 'alter table final_entities alter column hash type varchar(255)',
  },
  {
    what: 'has larger numbers of references',
    up: 'alter table refresh_state_references alter column id type numeric',
    down: 'alter table refresh_state_references alter column id type bigint',
  },
  {
    what: 'adds columns',
    up: `alter table final_entities add column extra text not null default 'x';
         alter table relations add column extra int;
         alter table refresh_state add column extra jsonb default '{}'`,
    down: `alter table final_entities drop column extra;
           alter table relations drop column extra;
           alter table refresh_state drop column extra`,
  },
  {
    what: 'drops the hash',
    inTheWayOf: 'final_entities',
    up: 'alter table final_entities drop column hash',
    down: `alter table final_entities add column hash varchar(255) not null default 'again'`,
  },
  {
    what: 'drops the time of the last update',
    inTheWayOf: 'final_entities',
    up: 'alter table final_entities drop column last_updated_at',
    down: 'alter table final_entities add column last_updated_at timestamptz default now()',
  },
  {
    what: 'drops the errors',
    inTheWayOf: 'refresh_state',
    up: 'alter table refresh_state drop column errors',
    down: `alter table refresh_state add column errors text not null default '[]'`,
  },
  {
    what: 'renames the entity',
    inTheWayOf: 'final_entities',
    up: 'alter table final_entities rename column final_entity to entity',
    down: 'alter table final_entities rename column entity to final_entity',
  },
  {
    what: 'renames the id of an entity',
    inTheWayOf: 'final_entities',
    up: 'alter table final_entities rename column entity_id to id',
    down: 'alter table final_entities rename column id to entity_id',
  },
  {
    what: 'renames the location key',
    inTheWayOf: 'refresh_state',
    up: 'alter table refresh_state rename column location_key to location',
    down: 'alter table refresh_state rename column location to location_key',
  },
  {
    what: 'renames the type of a relation',
    inTheWayOf: 'relations',
    up: 'alter table relations rename column type to relation',
    down: 'alter table relations rename column relation to type',
  },
  {
    what: 'renames the entity that a relation comes from',
    inTheWayOf: 'relations',
    up: 'alter table relations rename column originating_entity_id to entity_id',
    down: 'alter table relations rename column entity_id to originating_entity_id',
  },
  {
    what: 'renames the source of a reference',
    inTheWayOf: 'refresh_state_references',
    up: 'alter table refresh_state_references rename column source_entity_ref to parent',
    down: 'alter table refresh_state_references rename column parent to source_entity_ref',
  },
  {
    what: 'builds an index again',
    up: `drop index relations_source_entity_ref_idx;
         create index relations_source_entity_ref_idx on relations (source_entity_ref)`,
    down: 'reindex table relations',
  },
  {
    what: 'renames the table of relations',
    up: 'alter table relations rename to entity_relations',
    down: 'alter table entity_relations rename to relations',
  },
  {
    what: 'renames the table of entities',
    up: 'alter table final_entities rename to stitched_entities',
    down: 'alter table stitched_entities rename to final_entities',
  },
  {
    what: 'keeps relations in a new table',
    up: `create table relations_new (like relations including all);
         insert into relations_new select * from relations;
         drop table relations;
         alter table relations_new rename to relations`,
    down: `delete from relations
            where originating_entity_id not in (select entity_id from refresh_state);
           alter table relations add foreign key (originating_entity_id)
             references refresh_state (entity_id) on delete cascade`,
  },
];

/** Nothing but what is in the way, of which there may be more. */
function expectedFaults(source?: string): unknown {
  return source ? expect.arrayContaining([source]) : [];
}

describe('a release of the stock catalog that', () => {
  let database: LiveDatabase;
  beforeAll(async () => {
    database = await adopted();
    // It would keep upstream itself from the changes of the columns that it names.
    await database.query(
      'drop trigger if exists final_entities_assign_generation_at_commit on public.final_entities',
    );
  });

  it.each(CHANGES)(
    '$what, can do so and goes on writing; adopted again, all is carried',
    async ({ up, down, inTheWayOf }) => {
      const reported = await asEngine(database, async knex => {
        // What a session has planned before must not be in the way.
        await writeAsEngine(knex);
        await knex.raw(up);
        try {
          await writeAsEngine(knex);
          await deleteOne(knex);
          return (await faults(database)).map(({ source }) => source);
        } finally {
          await knex.raw(down);
        }
      });
      await adopt({ connection: database.admin });
      expect(reported).toEqual(expectedFaults(inTheWayOf));
      expect(await differences(database, false)).toEqual([]);
      expect(await faults(database)).toEqual([]);

      await database.query('truncate public.refresh_state cascade');
      await database.use(seedEngine);
      expect(await differences(database, false)).toEqual([]);
    },
  );
});
