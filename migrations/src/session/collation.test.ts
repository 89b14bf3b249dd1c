import { createTestDatabases } from '@internal/postgres/testUtils';
import { openCatalogDatabase } from '../__testUtils__/catalogDatabase';
import { runPhases } from '../__testUtils__/runPhases';
import { seedCatalog } from '../__testUtils__/seed';
import { rollback } from '../rollback/rollback';
import { verify } from '../verify/verify';

// PostgreSQL has databases with a locale of ICU since version 15, and the locales of the
// operating system may lack Turkish.
const databases = createTestDatabases({ versions: 'newest' });

const TURKISH = `locale_provider icu icu_locale 'tr-TR' lc_collate 'C' lc_ctype 'C' encoding 'UTF8'`;

it.each(databases.eachSupportedId())(
  'goes all the way and back in a Turkish database on %s, where lower(I) is ı',
  async id => {
    const database = await openCatalogDatabase(
      await databases.createWith(id, TURKISH),
    );
    const { rows } = await database.client.query(`select lower('I') as lower`);
    expect(rows[0].lower).toBe('ı');
    await seedCatalog(database.client);
    await runPhases(database, 5);
    await database.migrate(
      async migration => {
        const { checks } = await verify(migration);
        expect(checks.flatMap(({ problems }) => problems)).toEqual([]);
      },
      { mode: 'read' },
    );
    await database.migrate(migration => rollback(migration, 0));
    await database.close();
  },
);
