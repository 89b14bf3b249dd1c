import type {
  TestDatabaseId,
  TestDatabases,
} from '@internal/postgres/testUtils';
import type { Reporter } from '../../../Reporter';
import type { MigrationSettings } from '../../../engine/Step';
import { createCatalogDatabase } from '../../../__testUtils__/catalogDatabase';
import type { CatalogDatabase } from '../../../__testUtils__/catalogDatabase';
import { phase6 } from '..';
import { TestApplication } from './TestApplication';

/** What an operator gets to see. */
export interface Told {
  info: string[];
  warn: string[];
  reporter: Reporter;
}

export function listen(): Told {
  const info: string[] = [];
  const warn: string[] = [];
  return {
    info,
    warn,
    reporter: {
      info: message => info.push(message),
      warn: message => warn.push(message),
      waiting: () => undefined,
      progress: () => ({ advance: () => undefined, finish: () => undefined }),
    },
  };
}

/** A database before the cutover, and the application of the test that runs. */
export interface CutoverSuite {
  database(): CatalogDatabase;
  application(): TestApplication;
  baseUrl(): string;
}

/** To be called where the tests of a suite are described, which share a database. */
export function describeCutover(
  databases: TestDatabases,
  id: TestDatabaseId,
): CutoverSuite {
  let database: CatalogDatabase;
  let application: TestApplication;
  let baseUrl: string;
  beforeAll(async () => {
    database = await createCatalogDatabase(databases, id, { phase: 5 });
  });
  afterAll(() => database.close());
  beforeEach(async () => {
    application = new TestApplication(database.client);
    baseUrl = await application.start();
  });
  afterEach(async () => {
    await application.stop();
    await database.client.query(
      `delete from tenants where tenant_slug like 'smoke-test-%'`,
    );
  });
  return {
    database: () => database,
    application: () => application,
    baseUrl: () => baseUrl,
  };
}

/** Phase 6, in one direction or the other. */
export async function runCutover(
  database: CatalogDatabase,
  cutover: MigrationSettings['cutover'],
  options: {
    direction?: 'up' | 'down';
    reporter?: Reporter;
  } = {},
): Promise<void> {
  const { direction = 'up', reporter } = options;
  await database.migrate(
    async ({ context }) => {
      if (direction === 'up') {
        await phase6.check?.(context);
      }
      for (const step of phase6.steps) {
        await step[direction](context);
      }
    },
    { settings: { cutover }, reporter },
  );
}

/** The tenants besides the default one that are not deleted. */
export async function readTenants({
  client,
}: CatalogDatabase): Promise<string[]> {
  const { rows } = await client.query(
    `select tenant_slug from tenants
      where tenant_slug <> 'default' and deleted_at is null`,
  );
  return rows.map(row => row.tenant_slug);
}
