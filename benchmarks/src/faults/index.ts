import { findPgBouncer } from '@internal/postgres';
import type {
  Benchmark,
  BenchmarkContext,
  BenchmarkResult,
} from '../harness/Benchmark';
import { DATABASE } from './constants';
import type { Fault } from './faults';
import { type FaultFigures, measureFault } from './measureFault';
import { clientTable, remainsTable } from './report';
import { FULL, SHORT, type Size } from './sizes';
import { RestartableServer } from './world/RestartableServer';
import { createTenants } from './world/tenants';
import { World } from './world/World';

/** A backend under load whose database goes away, in several ways. */
export const faultsBenchmark: Benchmark = { name: 'faults', run };

async function run(context: BenchmarkContext): Promise<BenchmarkResult> {
  const size = context.settings.short ? SHORT : FULL;
  context.progress('making a catalog of tenants');
  const server = await RestartableServer.start();
  try {
    await createTenants({ postgres: server.postgres, name: DATABASE }, size);
    const figures = await inflictAll(context, server, size);
    return {
      circumstances: describe(size),
      comparisons: [],
      figures: [clientTable(figures), remainsTable(figures)],
      notes: findPgBouncer()
        ? []
        : ['No pgbouncer on the PATH: the faults behind it are left out'],
      failures: figures.flatMap(({ failures }) => failures),
    };
  } finally {
    await server.close();
  }
}

async function inflictAll(
  context: BenchmarkContext,
  server: RestartableServer,
  size: Size,
): Promise<FaultFigures[]> {
  const figures: FaultFigures[] = [];
  const inflict = async (faults: Fault[], behindBouncer: boolean) => {
    const world = await World.start(server, behindBouncer);
    try {
      for (const fault of faults) {
        context.progress(
          `${behindBouncer ? 'behind PgBouncer: ' : ''}${fault.what}`,
        );
        const number = figures.length;
        figures.push(await measureFault(world, fault, { size, number }));
      }
    } finally {
      await world.stop();
    }
  };
  await inflict(size.faults, false);
  if (findPgBouncer()) {
    await inflict(size.faultsBehindBouncer, true);
  }
  return figures;
}

function describe(size: Size): string {
  const { tenants, entities, readers, writers, lasting } = size;
  return (
    `${readers} clients read, ${writers} write and one creates tenants, each of its ` +
    `requests after the other, in ${tenants} tenants of ${entities} entities. ` +
    `A fault lasts ${lasting} s, and longer where something has to start.`
  );
}
