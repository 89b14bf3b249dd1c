import { createTestDatabases } from '@internal/postgres/testUtils';
import { forEachTest } from '../../__testUtils__/forEachTest';
import { createCatalogDatabase } from '../../__testUtils__/catalogDatabase';
import type { CatalogDatabase } from '../../__testUtils__/catalogDatabase';
import { recordingReporter } from '../../__testUtils__/recordingReporter';
import type { RecordingReporter } from '../../__testUtils__/recordingReporter';
import { DEFAULT_TENANT_ID } from '../../schema/tables';
import { notNull } from './30_not_null';
import { rowsWithoutTenant } from './__testUtils__/rowsWithoutTenant';

const databases = createTestDatabases();

const ENTITIES = 1000;

const TABLES = ['entities', 'refresh_state', 'relations'];

/** What the phase leaves behind, apart from the rows. */
async function readLayout({ client }: CatalogDatabase) {
  const { rows: columns } = await client.query(
    `select attrelid::regclass::text as table, attnotnull as required
       from pg_attribute where attname = 'tenant_id' and attrelid in
         ('entities'::regclass, 'relations'::regclass, 'refresh_state'::regclass)
      order by 1`,
  );
  const { rows: constraints } = await client.query(
    `select conrelid::regclass::text as table, conname as name,
            pg_get_constraintdef(oid) as definition, convalidated as valid
       from pg_constraint where contype in ('c', 'f')
        and pg_get_constraintdef(oid) like '%tenant_id%'
        and conrelid <> 'tenants'::regclass order by 1, 2`,
  );
  return { columns, constraints };
}

async function readRows({ client }: CatalogDatabase) {
  const { rows } = await client.query(
    `select t, count(*)::int as all,
            count(*) filter (where id = '${DEFAULT_TENANT_ID}')::int as filled
       from (select 'entities' as t, tenant_id as id from entities
             union all select 'relations', tenant_id from relations
             union all select 'refresh_state', tenant_id from refresh_state) rows
      group by t order by t`,
  );
  return rows;
}

const LAYOUT = {
  columns: TABLES.map(table => ({ table, required: true })),
  constraints: TABLES.map(table => ({
    table,
    name: `${table}_tenant_id_fkey`,
    definition:
      'FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id) ON DELETE CASCADE',
    valid: true,
  })),
};

const ROWS = [
  { t: 'entities', all: ENTITIES, filled: ENTITIES },
  { t: 'refresh_state', all: ENTITIES, filled: ENTITIES },
  { t: 'relations', all: 2 * ENTITIES, filled: 2 * ENTITIES },
];

describe.each(databases.eachSupportedId())('phase 2 on %s', id => {
  const database = forEachTest(() =>
    createCatalogDatabase(databases, id, {
      entities: ENTITIES,
    }),
  );
  beforeEach(async () => {
    await database.migrate(migration => migration.runPhase(1));
  });

  const runPhase2 = (reporter: RecordingReporter, batchSize = 10) =>
    database.migrate(migration => migration.runPhase(2), {
      reporter,
      settings: { batchSize },
    });

  /** A reporter that ends the command, the server still running, at a batch. */
  const stopAfter = (batches: number) =>
    recordingReporter({
      onAdvance: (_, count) => {
        if (count === batches) {
          throw new Error('stopped');
        }
      },
    });

  const readCursor = async () => {
    const { rows } = await database.client.query(
      `select value from tenancy_migration_state where key = 'phase2.cursor.entities'`,
    );
    return rows[0].value as { next: number; end: number };
  };

  const expectDone = async () => {
    await expect(rowsWithoutTenant(database)).resolves.toBe(0);
    await expect(
      database.migrate(migration => migration.completedPhase()),
    ).resolves.toBe(2);
  };

  it('goes on from its cursor, with nothing left behind', async () => {
    const first = stopAfter(4);
    await expect(runPhase2(first, 100)).rejects.toThrow('stopped');
    const filled = first.bars[0].advances.reduce((sum, rows) => sum + rows);
    await expect(rowsWithoutTenant(database, 'entities')).resolves.toBe(
      ENTITIES - filled,
    );
    const { next } = await readCursor();
    const { rows } = await database.client.query(
      `select min((ctid::text::point)[0])::int as first from entities where tenant_id is null`,
    );
    expect(rows).toEqual([{ first: next }]);
    const second = recordingReporter();
    await runPhase2(second, 100);
    const [{ total, advances }] = second.bars;
    // Estimated by statistics, which autovacuum may have made in between.
    expect(total).toBeLessThan(first.bars[0].total);
    expect(advances.reduce((sum, each) => sum + each)).toBe(ENTITIES - filled);
    // Batches that find nothing would come first, had it begun again.
    expect(advances[0]).toBeGreaterThan(0);
    await expectDone();
  });

  it('finds the rows that a VACUUM FULL has moved in between', async () => {
    await expect(runPhase2(stopAfter(10))).rejects.toThrow('stopped');
    await database.client.query('vacuum full entities');
    await runPhase2(recordingReporter());
    await expectDone();
  });

  it('finds the rows that were moved to pages behind its cursor, or past its end', async () => {
    await expect(runPhase2(stopAfter(10))).rejects.toThrow('stopped');
    const { next, end } = await readCursor();
    await database.client.query('vacuum entities');
    await database.client.query(
      'update entities set stitch_ticket = repeat(hash, 10) where tenant_id is null',
    );
    const { rows } = await database.client.query(
      `select count(*) filter (where ctid < '(${next},0)') > 0 as behind,
              count(*) filter (where ctid >= '(${end},0)') > 0 as past
         from entities where tenant_id is null`,
    );
    expect(rows).toEqual([{ behind: true, past: true }]);
    await runPhase2(recordingReporter());
    await expectDone();
  });

  it.each([50, 100_000])(
    'changes twice %s rows in a batch at most',
    async batchSize => {
      const reporter = recordingReporter();
      await runPhase2(reporter, batchSize);
      const { bars } = reporter;
      const advances = bars.flatMap(bar => bar.advances);
      expect(Math.max(...advances)).toBeLessThanOrEqual(2 * batchSize);
      expect(advances.reduce((sum, rows) => sum + rows)).toBe(4 * ENTITIES);
      await expect(rowsWithoutTenant(database)).resolves.toBe(0);
    },
  );

  it('refuses NOT NULL where a row has lost its tenant since', async () => {
    await runPhase2(recordingReporter());
    await database.migrate(migration => migration.undoFrom(notNull));
    await database.client.query(
      `update relations set tenant_id = null where source_entity_ref like '%-7'`,
    );
    await expect(runPhase2(recordingReporter())).rejects.toThrow(
      '2 of the 2,000 rows of relations have no tenant',
    );
    // No constraint stands in the way of whoever writes to those rows.
    await database.client.query(
      `update relations set weight = 2 where tenant_id is null`,
    );
  });

  const readTenants = async () =>
    (
      await database.client.query(
        'select tenant_id, tenant_slug, tenant_name from tenants',
      )
    ).rows;

  it('gives every row to the default tenant, and requires one from then on', async () => {
    await runPhase2(recordingReporter());
    await expect(readTenants()).resolves.toEqual([
      {
        tenant_id: DEFAULT_TENANT_ID,
        tenant_slug: 'default',
        tenant_name: 'Our company',
      },
    ]);
    await expect(readRows(database)).resolves.toEqual(ROWS);
    await expect(readLayout(database)).resolves.toEqual(LAYOUT);
  });

  it('keeps a default tenant that is there already', async () => {
    await database.client.query(
      `insert into tenants (tenant_id, tenant_slug, tenant_name)
       values ('${DEFAULT_TENANT_ID}', 'headquarters', 'Headquarters')`,
    );
    await runPhase2(recordingReporter());
    await expect(readTenants()).resolves.toEqual([
      expect.objectContaining({ tenant_name: 'Headquarters' }),
    ]);
  });
});
