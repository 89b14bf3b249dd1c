import { withKnex } from '../harness/database';
import type {
  Benchmark,
  BenchmarkContext,
  BenchmarkResult,
} from '../harness/Benchmark';
import type { Comparison } from '../harness/comparison';
import { DelayingProxy } from '../harness/proxy/DelayingProxy';
import { vacuum } from '../catalog/vacuum';
import { runStatements } from '../migration/database';
import { compareSides } from './compareSides';
import type { Arena } from './contestants';
import { createDatabases } from './databases';
import { addTenants, assertTerms } from './fill';
import { type Databases, LAYOUTS } from './layouts';
import { describeLocks } from './locks';
import { countOf, FULL, SHORT, type Size } from './sizes';

/** How far away the database is where it is not at hand, in milliseconds. */
const RTT_MS = 1;

/** What the tenant scope costs a read, with few and with many tenants. */
export const scopeBenchmark: Benchmark = {
  name: 'scope',
  rounds: { full: 5, short: 2 },
  serverSettings: ({ short }) => ({
    // What runs now and then would hit one side only.
    autovacuum: 'off',
    checkpoint_timeout: '1h',
    // Far less than is filled, which takes enough of the disk. Nothing is written while
    // anything is measured.
    max_wal_size: '4GB',
    // What is read stays in memory.
    shared_buffers: short ? '256MB' : '6GB',
    // Each of the sides has its connections.
    max_connections: '500',
    // The policy alone locks every partition. With PostgreSQL's 64, ten at a time fail.
    max_locks_per_transaction: '1024',
  }),
  run,
};

async function run(context: BenchmarkContext): Promise<BenchmarkResult> {
  const { postgres, progress, settings } = context;
  const size = settings.short ? SHORT : FULL;
  const databases = await createDatabases(postgres, size);
  const comparisons: Comparison[] = [];
  const notes: string[] = [];
  let before: Arena['before'];
  for (const [index, tenants] of size.tenants.entries()) {
    progress(`filling ${countOf(tenants)}`);
    await grow(databases, size, {
      from: size.tenants[index - 1] ?? 0,
      to: tenants,
    });
    comparisons.push(
      ...(await measureStep(context, size, databases, { tenants, before })),
    );
    notes.push(await describeLocks(context, databases, tenants));
    if (tenants === size.growsFrom) {
      before = { databases: await keepCopies(databases), tenants };
    }
  }
  return {
    circumstances: await describe(context, size, databases),
    comparisons,
    notes,
  };
}

async function grow(
  databases: Databases,
  size: Size,
  { from, to }: { from: number; to: number },
): Promise<void> {
  await addTenants(
    databases,
    Array.from({ length: to - from }, (_, index) => from + index + 1),
    size,
  );
  await Promise.all(Object.values(databases).map(vacuum));
  for (const layout of LAYOUTS) {
    await assertTerms(databases[layout], Math.min(to, size.tenantsWithTerms));
  }
}

async function measureStep(
  context: BenchmarkContext,
  size: Size,
  databases: Databases,
  { tenants, before }: Pick<Arena, 'tenants' | 'before'>,
): Promise<Comparison[]> {
  const { connection, settings } = context;
  const arena = { connection, databases, tenants };
  const isJudged = tenants === size.judged;
  const isLast = tenants === size.tenants.at(-1);
  const comparisons = await compareSides(context, size, {
    ...{ ...arena, connections: 1 },
    ...(isLast && { before }),
    // Half of the time (design).
    targets: isJudged ? { transaction: 2 } : {},
  });
  if (!isJudged) {
    return comparisons;
  }
  for (const connections of size.connections) {
    comparisons.push(
      ...(await compareSides(context, size, {
        ...{ ...arena, connections, targets: {} },
      })),
    );
  }
  // Otherwise all of it is.
  if (settings.rttMs === 0) {
    comparisons.push(...(await measureAfar(context, size, arena)));
  }
  return comparisons;
}

async function measureAfar(
  context: BenchmarkContext,
  size: Size,
  arena: Pick<Arena, 'databases' | 'tenants'>,
): Promise<Comparison[]> {
  const proxy = await DelayingProxy.start(context.postgres.connection, RTT_MS);
  try {
    return await compareSides(context, size, {
      ...{ ...arena, connection: proxy.connection, connections: 1 },
      suffix: `, ${RTT_MS} ms away`,
      // At most 1.25 times the time (design).
      targets: { bare: 0.8 },
    });
  } finally {
    await proxy.stop();
  }
}

/** The databases as they are, for a comparison with what they will have grown to. */
async function keepCopies(databases: Databases): Promise<Databases> {
  const copies = { ...databases };
  for (const layout of LAYOUTS) {
    const { postgres, name } = databases[layout];
    copies[layout] = { postgres, name: `${name}_before` };
    await runStatements({ postgres, name: 'postgres' }, [
      `create database ${copies[layout].name} template ${name}`,
    ]);
  }
  return copies;
}

async function describe(
  { postgres, settings }: BenchmarkContext,
  { entitiesPerTenant, secondsOf }: Size,
  { shared }: Databases,
): Promise<string> {
  const { rows } = await withKnex(postgres, shared.name, knex =>
    knex.raw(
      `select to_char((select count(*) from tenancy.entities), 'FM999,999,999') as entities,
              (select round(avg(length(final_entity::text))) from tenancy.entities) as bytes,
              pg_size_pretty(pg_database_size(current_database())) as size`,
    ),
  );
  const [{ entities, bytes, size }] = rows;
  return (
    `${settings.rounds} rounds of ${secondsOf(
      settings.seconds,
    )} s. Tenants with ${entitiesPerTenant} ` +
    `entities each, in the end ${entities} of ${bytes} characters of JSON on average: ` +
    `${size} with indexes in the default partition`
  );
}
