import {
  createTestDatabases,
  SINGLE_TENANT_TABLES,
} from '@internal/postgres/testUtils';
import { createCatalogDatabase } from '../../__testUtils__/catalogDatabase';
import type { CatalogDatabase } from '../../__testUtils__/catalogDatabase';
import { catalogSnapshot } from '../../__testUtils__/catalogSnapshot';
import { runPhases } from '../../__testUtils__/runPhases';
import { cleanup } from '../../cleanup/cleanup';
import { beginCreation } from '../create';

const databases = createTestDatabases();

describe.each(databases.eachSupportedId())('on %s', id => {
  const opened: CatalogDatabase[] = [];
  const open = async () => {
    const database = await createCatalogDatabase(databases, id, {
      seed: false,
    });
    opened.push(database);
    return database;
  };
  afterEach(() =>
    Promise.all(opened.splice(0).map(database => database.close())),
  );

  const layoutOf = async ({ client }: CatalogDatabase) => ({
    ...(await catalogSnapshot(client)),
    tables: (
      await client.query(
        `select relname as name, relreplident as identity,
                pg_get_expr(relpartbound, oid) as bound, pg_get_partkeydef(oid) as key
           from pg_class where relnamespace = 'tenancy'::regnamespace and relkind in ('r', 'p')
          order by 1`,
      )
    ).rows,
  });

  it('tables that are created are those that a swap would leave, after the cleanup', async () => {
    const created = await open();
    await created.migrate(migration => beginCreation(migration));
    await runPhases(created, 5);

    const swapped = await open();
    await swapped.client.query(SINGLE_TENANT_TABLES.join(';\n'));
    await runPhases(swapped, 5);
    await swapped.migrate(({ context }) => cleanup(context), {
      settings: { force: true },
    });
    // The former owner goes on with them.
    await swapped.client.query(
      'revoke all on entities, relations, refresh_state, tenants from postgres',
    );
    await created.client.query('revoke all on tenants from postgres');
    expect(await layoutOf(created)).toEqual(await layoutOf(swapped));
    await created.client.query('create table entities_old (theirs text)');
    await expect(
      created.migrate(({ context }) => cleanup(context)),
    ).rejects.toThrow('did not create the relation entities_old');
  });
});
