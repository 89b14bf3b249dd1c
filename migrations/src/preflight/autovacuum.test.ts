import { createTestDatabases } from '@internal/postgres/testUtils';
import { createCatalogDatabase } from '../__testUtils__/catalogDatabase';
import type { CatalogDatabase } from '../__testUtils__/catalogDatabase';
import { TERM_STORAGE } from '../phases/phase5_partitions/90_entity_terms/tables';
import { findings, preflight } from './__testUtils__/preflight';

const databases = createTestDatabases();

const NAMES = Object.keys(TERM_STORAGE);
const ADVISED = Object.entries(TERM_STORAGE).map(each => each.join(' = '));

describe.each(databases.eachSupportedId())('autovacuum on %s', id => {
  let database: CatalogDatabase;
  afterEach(() => database.close());

  const create = async (phase: 0 | 5) => {
    database = await createCatalogDatabase(databases, id, {
      entities: 20,
      phase: phase || undefined,
    });
  };
  const alter = (...statements: string[]) =>
    database.client.query(statements.join(';'));
  const run = async () =>
    (await preflight(database)).filter(({ check }) => check === 'autovacuum');
  const warnings = async () => findings(await run(), 'warning');

  /** Runs what the warnings say, after which nothing is left to warn of. */
  const followAdvice = async () => {
    for (const { sql } of await warnings()) {
      await alter(sql!);
    }
    await expect(run()).resolves.toEqual([
      expect.objectContaining({ level: 'ok' }),
    ]);
  };

  it('is only looked at on the server before phase 5', async () => {
    await create(0);
    await expect(run()).resolves.toEqual([
      {
        check: 'autovacuum',
        level: 'ok',
        message: expect.stringContaining('Phase 5 creates entity_terms with'),
      },
    ]);
  });

  it('is silent where phase 5 has created the table', async () => {
    await create(5);
    await expect(run()).resolves.toEqual([
      {
        check: 'autovacuum',
        level: 'ok',
        message: expect.stringContaining('Each partition of the others'),
      },
    ]);
  });

  it('gets the statement for settings that the table lacks', async () => {
    await create(5);
    await alter(`alter table tenancy.entity_terms reset (${NAMES})`);
    await expect(warnings()).resolves.toMatchObject([
      {
        message: expect.stringMatching(
          /autovacuum_vacuum_scale_factor is 0\.2, the server's/,
        ),
        sql: `alter table tenancy.entity_terms set (${ADVISED.join(', ')});`,
      },
    ]);
    await followAdvice();
  });

  it('gets the statement for one that is larger than advised', async () => {
    await create(5);
    const [name] = NAMES;
    await alter(`alter table tenancy.entity_terms set (${name} = 0.3)`);
    await expect(warnings()).resolves.toMatchObject([
      {
        message: expect.stringContaining(`${name} is 0.3.`),
        sql: `alter table tenancy.entity_terms set (${ADVISED[0]});`,
      },
    ]);
    await followAdvice();
  });

  it('is silent where the table has more eager ones', async () => {
    await create(5);
    const eager = NAMES.map(name => `${name} = 0.001`);
    await alter(`alter table tenancy.entity_terms set (${eager})`);
    await expect(warnings()).resolves.toEqual([]);
  });

  it('is warned of where it pauses long, or is off for the table', async () => {
    await create(5);
    await alter(
      `alter table tenancy.entity_terms
         set (autovacuum_vacuum_cost_delay = 20, autovacuum_enabled = fal)`,
    );
    await expect(warnings()).resolves.toMatchObject([
      { message: expect.stringContaining('pauses for 20 ms after each 200') },
      { message: 'Autovacuum is off for entity_terms.' },
    ]);
    await followAdvice();
  });

  it('is warned of where it is off for a partition', async () => {
    await create(5);
    await alter(
      `create table tenancy."Relations of ours" partition of tenancy.relations
         for values in ('00000000-0000-0000-0000-0000000000aa') with (autovacuum_enabled = off)`,
    );
    await expect(warnings()).resolves.toMatchObject([
      {
        message: expect.stringContaining('"Relations of ours"'),
        sql: 'alter table tenancy."Relations of ours" reset (autovacuum_enabled);',
      },
    ]);
    await followAdvice();
  });
});
