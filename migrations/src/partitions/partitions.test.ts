import { createTestDatabases } from '@internal/postgres/testUtils';
import { catalogSnapshot } from '../__testUtils__/catalogSnapshot';
import { faultsOf } from '../phases/phase5_partitions/15_search_tables/__testUtils__/faults';
import { swap } from '../phases/phase5_partitions/70_swap';
import { rollback } from '../rollback/rollback';
import { verify } from '../verify/verify';
import {
  contents,
  countIn,
  describeTenants,
  TABLES,
  TEAM,
} from './__testUtils__/tenants';

const databases = createTestDatabases();

describe.each(databases.eachSupportedId())('partitions on %s', id => {
  const { database, give, takeBack, query } = describeTenants(databases, id);

  const problems = () =>
    database.migrate(
      async migration =>
        (await verify(migration)).checks.flatMap(check => check.problems),
      { mode: 'read' },
    );

  it('move the rows of a tenant, and nothing else, and leave nothing behind', async () => {
    const before = await contents(database);
    const catalog = await catalogSnapshot(database.client);
    const state = () =>
      query('select * from tenancy_migration_state order by 1');
    const kept = await state();
    await expect(give()).resolves.toMatchObject({ changed: true });
    await expect(contents(database)).resolves.toEqual(before);
    await expect(
      countIn(database, 'relations_tenant_my_team', TEAM),
    ).resolves.toBe(120);
    await expect(countIn(database, 'relations_catch_all', TEAM)).resolves.toBe(
      0,
    );
    await expect(give()).resolves.toMatchObject({
      changed: false,
      partitions: { entities: 'entities_tenant_my_team' },
    });
    await expect(takeBack()).resolves.toMatchObject({ changed: true });
    await expect(takeBack()).resolves.toEqual({ changed: false });
    await expect(contents(database)).resolves.toEqual(before);
    await expect(catalogSnapshot(database.client)).resolves.toEqual(catalog);
    await expect(state()).resolves.toEqual(kept);
  });

  it('leave the terms of entities as they are, and these go on following', async () => {
    const terms = () =>
      query(
        `select xmin::text, ctid::text, s::text as term from entity_terms s order by 3, 2`,
      );
    const before = await terms();
    expect(before.length).toBeGreaterThan(0);
    await give();
    await expect(terms()).resolves.toEqual(before);
    await query(
      `update entities set deleted_at = now() where tenant_id = '${TEAM}'`,
    );
    await expect(
      query(`select from entity_terms where tenant_id = '${TEAM}'`),
    ).resolves.toEqual([]);
    await query(
      `update entities set deleted_at = null where tenant_id = '${TEAM}'`,
    );
    const again = await terms();
    await takeBack();
    await expect(terms()).resolves.toEqual(again);
    await expect(faultsOf(database)).resolves.toEqual([]);
  });

  it('are like the one of the default tenant', async () => {
    await give();
    const snapshot = await catalogSnapshot(database.client);
    for (const table of TABLES) {
      const of = (name: string) => {
        const on = (row: { definition?: unknown }) =>
          String(row.definition).includes(` ON tenancy.${name} `);
        const text = JSON.stringify({
          relations: snapshot.relations.filter(row => row.name === name),
          columns: snapshot.columns.filter(row => row.table === name),
          constraints: snapshot.constraints
            .filter(row => row.table === name)
            .map(row => row.definition)
            .sort(),
          triggers: snapshot.triggers.filter(on),
          indexes: snapshot.indexes
            .filter(on)
            .map(row => String(row.definition).replace(/INDEX \S+/, 'INDEX'))
            .sort(),
        });
        return text
          .split(name)
          .join('partition')
          .split('_entity_fkey1')
          .join('_entity_fkey');
      };
      expect(of(`${table}_tenant_my_team`)).toEqual(
        of(`${table}_tenant_default`),
      );
    }
  });

  it('obey foreign keys', async () => {
    await give();
    await query(
      `delete from entities where tenant_id = '${TEAM}' and entity_name = 'part-7'`,
    );
    await expect(
      countIn(database, 'relations_tenant_my_team', TEAM),
    ).resolves.toBe(118);
    await takeBack();
    await query(`delete from tenants where tenant_id = '${TEAM}'`);
    await expect(countIn(database, 'relations_catch_all', TEAM)).resolves.toBe(
      0,
    );
  });

  it('keep tenants apart, which verify sees', async () => {
    await give();
    await expect(problems()).resolves.toEqual([]);
    await query('grant select on entities_tenant_my_team to portal_app');
    expect((await problems()).join()).toContain('entities_tenant_my_team');
  });

  it('stay while phase 5 is undone, and are there when it is done again', async () => {
    const before = await contents(database);
    await give();
    await database.migrate(migration => migration.undoFrom(swap));
    await expect(give()).rejects.toThrow(/tables are not in use.*phase5/);
    await database.migrate(migration => migration.runPhase(5));
    await expect(contents(database)).resolves.toEqual(before);
    await expect(give()).resolves.toMatchObject({ changed: false });
    await database.migrate(migration => rollback(migration, 4), {
      settings: { force: true },
    });
    await expect(
      query(`select relname from pg_class where relname ~ '_tenant_my_team'`),
    ).resolves.toEqual([]);
  });
});
