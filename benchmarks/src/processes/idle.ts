import { setTimeout as delay } from 'node:timers/promises';
import { addTenant, startServer } from '../engines/servers';
import type { BenchmarkContext, FigureTable } from '../harness/Benchmark';
import { type Database, withClient } from '../harness/database';
import { type ServerProcess, startTogether } from '../harness/servers';

const DATABASE = 'processes_idle';

/** What processes with engines ask the database for while nobody asks them for anything. */
export async function measureIdle(
  context: BenchmarkContext,
  options: { counts: number[]; tenants: number; seconds: number },
): Promise<FigureTable> {
  const { counts, tenants, seconds } = options;
  const database = { postgres: context.postgres, name: DATABASE };
  const servers: ServerProcess[] = [];
  const rows: FigureTable['rows'] = [];
  try {
    for (const count of counts) {
      context.progress(`${count} idle with ${tenants} tenants`);
      const [first] = servers;
      const missing = Array.from({ length: count - servers.length }, () =>
        startServer(context, DATABASE, { withEngines: true, exists: !!first }),
      );
      servers.push(...(await startTogether(missing)));
      for (let nr = 0; !first && nr < tenants; nr += 1) {
        await addTenant(servers[0], `tenant-${nr}`);
      }
      const before = await countTransactions(database);
      await delay(seconds * 1000);
      const after = await countTransactions(database);
      rows.push([count, Math.round(((after - before) * 60) / seconds / count)]);
    }
  } finally {
    await Promise.all(servers.map(server => server.stop()));
  }
  return {
    title: `${tenants} tenants with engines, nobody asks, ${seconds} s`,
    head: ['processes', 'transactions of each per minute'],
    rows,
  };
}

async function countTransactions(database: Database): Promise<number> {
  return withClient(database, async client => {
    const { rows } = await client.query<{ count: number }>(
      `select (xact_commit + xact_rollback)::int as count
         from pg_stat_database where datname = current_database()`,
    );
    return rows[0].count;
  });
}
