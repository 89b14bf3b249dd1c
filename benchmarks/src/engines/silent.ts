import { setTimeout as delay } from 'node:timers/promises';
import type { BenchmarkContext, FigureTable } from '../harness/Benchmark';
import { adoptCatalog, createEmptyCatalog } from '../harness/catalogs';
import { type Database, withClient } from '../harness/database';
import { ServerProcess } from '../harness/servers';
import type { EnginesBackendSettings } from './backend';
import { send } from './servers';

const NAME = 'engines_silent';
const POLL_MS = 1_000;
const SETTLE_MS = 45_000;
const WINDOW_MS = 30_000;
const WAKES = 50;

const TENANTS = `
  insert into tenancy.tenants (tenant_slug, tenant_name)
  select 'silent-' || n, 'Silent' from generate_series(1, $1::int) n`;

const ASLEEP = `
  select count(*)::int as count from tenancy.engine_status where wake_at is not null`;

/** More tenants, with the status of one whose engine sleeps. */
const COPIES = `
  with new as (
    insert into tenancy.tenants (tenant_slug, tenant_name)
    select 'copy-' || n, 'Copy' from generate_series($1::int, $2::int) n returning tenant_id)
  insert into tenancy.engine_status
  select (jsonb_populate_record(s, jsonb_build_object('tenant_id', new.tenant_id))).*
    from new, (select s from tenancy.engine_status s
              where wake_at is not null order by wake_at desc limit 1) last (s)`;

const SCHEMAS = `
  do $$
  declare each record;
  begin
    for each in select replace(tenant_id::text, '-', '') as id
                  from tenancy.tenants where tenant_slug like 'copy-%' loop
      execute format('create schema if not exists tenant_%s', each.id);
    end loop;
  end $$`;

/** Which engines sleep, to which a measurement of waking them returns. */
const SAVE = `
  drop table if exists public.engines_asleep;
  create table public.engines_asleep as
    select tenant_id, slept_with from tenancy.engine_status where wake_at is not null`;
const RESTORE = `
  update tenancy.engine_status s
     set wake_at = now() + interval '1 hour', slept_with = a.slept_with
    from public.engines_asleep a where a.tenant_id = s.tenant_id`;

const COMMITS = `select xact_commit::int as count from pg_stat_database where datname = current_database()`;

/**
 * What tenants cost that do nothing, in a backend that has just started: memory after garbage
 * collection, transactions, and the first answer of an engine that sleeps.
 */
export async function measureSilent(
  context: BenchmarkContext,
  { withTables, registered }: { withTables: number; registered: number[] },
): Promise<FigureTable> {
  const { postgres, progress } = context;
  const database: Database = { postgres, name: NAME };
  progress(`${withTables} tenants with an engine, which go to sleep`);
  await createEmptyCatalog(database);
  await adoptCatalog(database);
  await withClient(database, client => client.query(TENANTS, [withTables]));
  let server = await start(context);
  try {
    while ((await countOf(database, ASLEEP)) < withTables) {
      await delay(POLL_MS);
    }
  } finally {
    await server.stop();
  }
  const rows: FigureTable['rows'] = [];
  let count = withTables;
  for (const wanted of registered) {
    if (wanted > count) {
      const copies = [count + 1, wanted];
      await withClient(database, async client => {
        await client.query(COPIES, copies);
        await client.query(SCHEMAS);
      });
      count = wanted;
    }
    progress(`${count} tenants that do nothing`);
    await withClient(database, client => client.query(SAVE));
    const startedAt = performance.now();
    server = await start(context);
    const started = seconds(performance.now() - startedAt);
    try {
      await delay(SETTLE_MS);
      const heap = await heapOf(server);
      const before = await countOf(database, COMMITS);
      await delay(WINDOW_MS);
      const commits = (await countOf(database, COMMITS)) - before;
      rows.push([
        count,
        await countOf(database, ASLEEP),
        started,
        (heap / 1024).toFixed(0),
        ((commits * 60_000) / WINDOW_MS).toFixed(0),
        ...(await wakesOf(server, withTables)),
      ]);
    } finally {
      await server.stop();
    }
    await withClient(database, client => client.query(RESTORE));
  }
  return {
    title: `Tenants that do nothing, ${withTables} of them with tables`,
    head: [
      'tenants',
      'asleep',
      'start of the backend, s',
      'heap, kB',
      'transactions a minute',
      'answer of the first engine that slept, ms',
      'of the others, median',
      'longest',
    ],
    rows,
  };
}

function start({
  postgres: { connection },
}: BenchmarkContext): Promise<ServerProcess> {
  const settings: EnginesBackendSettings = {
    connection: { ...connection, database: NAME },
    withEngines: true,
  };
  return ServerProcess.start(require.resolve('./backend'), settings);
}

/** How long the first request after the start took in milliseconds, and those after it. */
async function wakesOf(
  server: ServerProcess,
  withTables: number,
): Promise<string[]> {
  const times: number[] = [];
  for (let at = 1; at <= Math.min(WAKES, withTables); at += 1) {
    const askedAt = performance.now();
    await send(server, 'GET', 'catalog/locations', { tenant: `silent-${at}` });
    times.push(performance.now() - askedAt);
  }
  const [first, ...others] = times;
  others.sort((one, other) => one - other);
  return [
    first,
    others[Math.floor(others.length / 2)],
    Math.max(...others),
  ].map(ms => ms.toFixed(0));
}

async function heapOf(server: ServerProcess): Promise<number> {
  // Of the default tenant: it starts no engine.
  const answer = await send(server, 'GET', 'catalog/benchmark/memory', {});
  return JSON.parse(answer).heapUsed;
}

async function countOf(database: Database, statement: string): Promise<number> {
  const { rows } = await withClient(database, client =>
    client.query<{ count: number }>(statement),
  );
  return rows[0].count;
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(1);
}
