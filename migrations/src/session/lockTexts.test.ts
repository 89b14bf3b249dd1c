import { createTestDatabases } from '@internal/postgres/testUtils';
import { Client } from 'pg';
import type { ClientConfig } from 'pg';
import { createCatalogDatabase } from '../__testUtils__/catalogDatabase';
import type { CatalogDatabase } from '../__testUtils__/catalogDatabase';
import { createStockCatalog } from '../adopt/__testUtils__/stockCatalog';
import { adopt } from '../adopt/adopt';
import { unadopt } from '../adopt/unadopt';
import { cleanup } from '../cleanup/cleanup';
import type { BriefTransaction } from '../engine/Executor';
import type { TenancyMigration } from '../engine/TenancyMigration';
import { phases } from '../phases';
import { rollback } from '../rollback/rollback';
import { lockStatements } from './lockRetries';

const databases = createTestDatabases();

// The weakest first. Weaker ones conflict with no read or write.
const MODES = ['SHARE', 'SHARE ROW EXCLUSIVE', 'EXCLUSIVE', 'ACCESS EXCLUSIVE'];

// The tables of before the swap, and those of after it while they wait.
const WAITING =
  /^(entities|relations|refresh_state)_(partitioned|partitioned_archive|old|tenant_default|catch_all)$/;

const PARTITION = /_(tenant_default|catch_all)$/;

type Locks = Record<string, string>;

/** The strongest lock that a session holds on each table that was there before its transaction. */
async function readLocks(observer: Client, pid: number): Promise<Locks> {
  const { rows } = await observer.query<{ name: string; modes: string[] }>(
    `select c.relname as name, array_agg(
              trim(upper(regexp_replace(replace(l.mode, 'Lock', ''), '([A-Z])', ' \\1', 'g')))) as modes
       from pg_locks l join pg_class c on c.oid = l.relation
      where l.pid = $1 and l.locktype = 'relation' and l.granted
        and c.relkind in ('r', 'p', 'v')
        and c.relnamespace::regnamespace::text !~ '^(pg_|information_schema)'
      group by 1`,
    [pid],
  );
  return Object.fromEntries(
    rows
      .map(({ name, modes }) => [
        name,
        MODES.filter(mode => modes.includes(mode)).pop(),
      ])
      .filter(([, mode]) => mode),
  );
}

/** What is wrong with the texts and the requests of a transaction that takes locks. */
function compare(
  { title, locks, tables = [], mode }: BriefTransaction,
  taken: Locks,
): string[] {
  const wrong: string[] = [];
  const requested = tables.map(name => name.replace(/^.*\./, ''));
  for (const [table, strongest] of Object.entries(taken)) {
    // A partition is locked with its table.
    if (
      taken[table.replace(PARTITION, '')] === strongest &&
      PARTITION.test(table)
    ) {
      continue;
    }
    const isNamed = new RegExp(
      `${strongest} on (?:[^.]|\\.(?=\\w))*\\b${table}\\b`,
    ).test(locks);
    const [, ofWaiting = ''] =
      /((?:ACCESS |SHARE ROW )?EXCLUSIVE|SHARE) on (?:(?!EXCLUSIVE).)*tables that are not in use/.exec(
        locks,
      ) ?? [];
    const isWaiting =
      WAITING.test(table) &&
      MODES.indexOf(ofWaiting) >= MODES.indexOf(strongest);
    if (!isNamed && !isWaiting) {
      wrong.push(`${title}: "${locks}" lacks ${strongest} on ${table}`);
    }
    if (!isWaiting && !requested.includes(table)) {
      wrong.push(`${title}: ${strongest} on ${table} is not requested first`);
    }
    if (
      requested.includes(table) &&
      strongest.toLowerCase() !== (mode ?? 'access exclusive')
    ) {
      wrong.push(`${title}: requests ${mode} on ${table}, takes ${strongest}`);
    }
  }
  for (const [, named, list] of locks.matchAll(
    /\b((?:ACCESS |SHARE ROW )?EXCLUSIVE) on ((?:\w+(?:, | and )?)+)/g,
  )) {
    for (const table of list.split(/, | and /)) {
      if (
        /_|^(tenants|entities|relations)$/.test(table) &&
        taken[table] !== named
      ) {
        wrong.push(
          `${title}: "${locks}" names ${table}, takes ${taken[table]}`,
        );
      }
    }
  }
  return wrong;
}

describe.each(databases.eachSupportedId())('on %s', id => {
  let database: CatalogDatabase;
  let observer: Client;
  let seen: number;
  let wrong: string[];

  const observe = async (connection: ClientConfig) => {
    observer = new Client(connection);
    await observer.connect();
    [seen, wrong] = [0, []];
  };

  afterEach(async () => {
    await observer.end();
    await database.close();
  });

  /** Runs a command whose transactions are looked at before they commit. */
  const watch = (run: (migration: TenancyMigration) => Promise<unknown>) =>
    database.migrate(
      async migration => {
        const { executor } = migration.context;
        executor.transaction = async transaction => {
          const [{ pid }] = await executor.read<{ pid: number }>(
            'select pg_backend_pid() as pid',
          );
          await executor.execute(
            [
              'begin',
              ...lockStatements(transaction, 1000),
              ...transaction.statements,
            ].join(';\n'),
          );
          wrong.push(...compare(transaction, await readLocks(observer, pid)));
          seen += 1;
          await executor.execute('commit');
        };
        await run(migration);
      },
      { settings: { force: true } },
    );

  it('each transaction of the phases says which locks it takes, and asks for them first', async () => {
    database = await createCatalogDatabase(databases, id, { entities: 20 });
    await observe(database.connection);
    for (const { number } of phases.slice(0, 5)) {
      await watch(migration => migration.runPhase(number));
    }
    await watch(migration => rollback(migration));
    await watch(migration => migration.runPhase(5));
    await watch(migration => rollback(migration, 0));
    for (const { number } of phases.slice(0, 5)) {
      await watch(migration => migration.runPhase(number));
    }
    await watch(({ context }) => cleanup(context));
    expect(wrong).toEqual([]);
    expect(seen).toBeGreaterThan(150);
  });

  it('so does each of an adoption', async () => {
    const catalog = await createStockCatalog(databases, id);
    database = catalog;
    await observe(catalog.connection);
    await watch(migration => adopt(migration));
    await watch(({ context }) => unadopt(context));
    await database.client.query(
      `create or replace function tenancy.adoption_release(p_engine text) returns void language sql as 'select 4711'`,
    );
    await watch(migration => adopt(migration));
    await watch(migration => rollback(migration, 0));
    expect(wrong).toEqual([]);
    expect(seen).toBeGreaterThan(10);
  });
});
