import type { BenchmarkContext, FigureTable } from '../harness/Benchmark';
import { withClient } from '../harness/database';
import type { ServerProcess } from '../harness/servers';
import { FIRST_REQUESTS } from './pluginsOfTenants';
import { addTenant, send, startServer } from './servers';

/** Engines that start at a time. */
const STARTS = 10;

const CONNECTIONS = `select count(*)::int as count from pg_stat_activity
                      where backend_type = 'client backend'
                        and pid <> pg_backend_pid()`;

/** An answer of a plugin, whatever it thinks of the request. */
const ANSWERED = /: 4\d\d, /;

/**
 * What it costs to list all plugins for each tenant, while nobody uses them and while some tenants
 * do: memory after garbage collection, connections, and the first answer of an instance.
 */
export async function measurePlugins(
  context: BenchmarkContext,
  { tenants, inUse }: { tenants: number; inUse: number },
): Promise<FigureTable> {
  const slugs = Array.from({ length: tenants }, (_, index) => `user-${index}`);
  const rows: FigureTable['rows'] = [];
  for (const withPlugins of [false, true]) {
    const what = withPlugins ? 'all plugins listed' : 'no plugin listed';
    context.progress(`${tenants} tenants, ${what}`);
    const name = `engines_${withPlugins ? 'with' : 'without'}_plugins`;
    const start = performance.now();
    const server = await startServer(context, name, {
      withEngines: true,
      withPlugins,
    });
    const started = seconds(performance.now() - start);
    try {
      for (let at = 0; at < tenants; at += STARTS) {
        const some = slugs.slice(at, at + STARTS);
        await Promise.all(some.map(slug => addTenant(server, slug)));
      }
      rows.push([what, ...(await stateOf(context, server)), started, '']);
      if (withPlugins) {
        const times = await Promise.all(
          slugs.slice(0, inUse).map(slug => useAll(server, slug)),
        );
        rows.push([
          `${what}, in use by ${inUse}`,
          ...(await stateOf(context, server)),
          started,
          seconds(Math.max(...times.flat())),
        ]);
      }
    } finally {
      await server.stop();
    }
  }
  return {
    title: `${tenants} tenants with an engine`,
    head: [
      '',
      'resident, MB',
      'heap, MB',
      'connections',
      'start of the backend, s',
      'slowest first answer, s',
    ],
    rows,
  };
}

/** Asks each plugin, one after the other, as somebody does who looks around. */
async function useAll(
  server: ServerProcess,
  tenant: string,
): Promise<number[]> {
  const times: number[] = [];
  for (const path of FIRST_REQUESTS) {
    const start = performance.now();
    await send(server, 'GET', path, { tenant }).catch(error => {
      if (!ANSWERED.test(error.message)) {
        throw error;
      }
    });
    times.push(performance.now() - start);
  }
  return times;
}

async function stateOf(
  { postgres }: BenchmarkContext,
  server: ServerProcess,
): Promise<[string, string, number]> {
  const { rss, heapUsed } = JSON.parse(
    await send(server, 'GET', 'catalog/benchmark/memory', { tenant: 'user-0' }),
  );
  const { rows } = await withClient({ postgres, name: 'postgres' }, client =>
    client.query<{ count: number }>(CONNECTIONS),
  );
  return [megabytes(rss), megabytes(heapUsed), rows[0].count];
}

function megabytes(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(0);
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(1);
}
