import type { Knex } from 'knex';
import type {
  Benchmark,
  BenchmarkContext,
  BenchmarkResult,
} from '../harness/Benchmark';
import {
  adoptCatalog,
  createStockTables,
  fillStockTables,
} from '../harness/catalogs';
import { compare, type Comparison, measureInTurn } from '../harness/comparison';
import { CpuRecorder } from '../harness/cpuTime';
import {
  type Database,
  runStatements,
  vacuum,
  withKnex,
} from '../harness/database';
import { createEntities, type GeneratedEntity } from '../harness/entities';
import { givePartition } from '../harness/engine';
import { operate } from '../harness/migrations';
import {
  SCHEMA,
  SERVICE_SUBJECT,
  startTogether,
  USER,
} from '../harness/servers';
import {
  assertSameAnswers,
  CatalogServer,
  createScenarios,
  NOTHING_PATH,
  type Scenario,
} from './requests';

/** A catalog to be measured. */
export interface Size {
  entities: number;
  /** How many tenants there are, where our side is to be one among several. */
  tenants?: number;
}

export const FULL: Size[] = [
  { entities: 5_000 },
  { entities: 50_000 },
  { entities: 50_000, tenants: 500 },
];

// Each takes two backends. That the default tenant's answers are the stock catalog's,
// the tests of the module show.
export const SHORT: Size[] = [{ entities: 500, tenants: 10 }];

// V8 compiles what is called often, in several steps: it takes thousands of requests.
const WARM_UP_ROUNDS = 15;

/** The tenant that is measured, where it is one among several. */
const LARGE_TENANT = 'large';

/** How many entities each of the other tenants has. */
const ENTITIES_OF_OTHERS = 50;

const BATCH_SIZE = 500;

// Nobody uses the tables while they are filled.
const LONGEST_MOVE_MS = 600_000;

const VARIANTS = { full: 200, short: 10 };

/** The read API of the catalog over HTTP, against that of the stock catalog. */
export const catalogBenchmark: Benchmark = {
  name: 'catalog',
  rounds: { full: 20, short: 2 },
  serverSettings: ({ short }) => ({
    // What runs now and then would hit one side only.
    autovacuum: 'off',
    checkpoint_timeout: '1h',
    max_wal_size: '16GB',
    // All data stays in memory.
    shared_buffers: short ? '256MB' : '3GB',
  }),
  run,
};

async function run(context: BenchmarkContext): Promise<BenchmarkResult> {
  const { rounds, concurrency } = context.settings;
  const seconds = secondsOf(context);
  const sizes = context.settings.short ? SHORT : FULL;
  // One for all sizes that have as many entities.
  const stocks = new Map<number, Database>();
  const comparisons: Comparison[] = [];
  const cpu = new CpuRecorder({ postgres: context.postgres.pid });
  for (const size of sizes) {
    const stock =
      stocks.get(size.entities) ?? (await createStockCatalog(context, size));
    stocks.set(size.entities, stock);
    comparisons.push(...(await compareSize(context, stock, size, cpu)));
  }
  return {
    circumstances: `${rounds} rounds of ${seconds} s, ${concurrency} requests at a time`,
    comparisons,
    figures: cpu.figures,
    notes: [],
  };
}

async function createStockCatalog(
  { postgres, progress }: BenchmarkContext,
  { entities }: Size,
): Promise<Database> {
  progress(`filling a stock catalog with ${entities} entities`);
  const database = await createDatabase({
    postgres,
    name: `stock_${entities}`,
  });
  await withKnex(postgres, database.name, async knex => {
    await createStockTables(knex);
    await fillStockTables(knex, entities);
  });
  await vacuum(database);
  return database;
}

/** A catalog of ours with the same entities, in the tenant that is asked for. */
async function createOurCatalog(
  { postgres, progress }: BenchmarkContext,
  stock: Database,
  size: Size,
): Promise<Database> {
  const { entities, tenants } = size;
  progress(`${describeSize(size)}: making them entities of a tenant`);
  const name = `tenants_${entities}_${tenants ?? 1}`;
  let database: Database;
  if (tenants) {
    database = await createDatabase({ postgres, name });
    await withKnex(postgres, name, createStockTables);
    await adoptCatalog(database);
    await addTenants(database, size);
  } else {
    database = await createDatabase({ postgres, name }, stock);
    await adoptCatalog(database);
  }
  await vacuum(database);
  return database;
}

async function createDatabase(
  database: Database,
  template?: Database,
): Promise<Database> {
  await runStatements({ ...database, name: 'postgres' }, [
    `create database ${database.name}${
      template ? ` template ${template.name}` : ''
    }`,
  ]);
  return database;
}

async function compareSize(
  context: BenchmarkContext,
  stock: Database,
  size: Size,
  cpu: CpuRecorder,
): Promise<Comparison[]> {
  const { progress, settings } = context;
  const description = describeSize(size);
  const ours = await createOurCatalog(context, stock, size);
  const servers = await startTogether([
    CatalogServer.start({
      name: 'stock catalog',
      database: stock.name,
      context,
    }),
    CatalogServer.start({
      name: 'ours',
      database: ours.name,
      context,
      tenant: size.tenants ? LARGE_TENANT : 'default',
    }),
    ...(size.tenants
      ? [
          CatalogServer.start({
            name: 'ours, not asking who is a member',
            database: ours.name,
            context,
            tenant: LARGE_TENANT,
            membership: 'open',
          }),
        ]
      : []),
  ]);
  const [stockServer, ourServer, openServer] = servers;
  try {
    const scenarios = await createScenarios(
      servers[0],
      size.entities,
      settings.short ? VARIANTS.short : VARIANTS.full,
    );
    await warmUp(context, servers, scenarios[0]);
    const compared = [stockServer, ourServer];
    const comparisons = [
      await compareWithNothing(
        context,
        servers[0],
        scenarios[0],
        description,
        cpu,
      ),
    ];
    // First, while both have answered as many requests as each other.
    if (openServer) {
      for (const scenario of scenarios.filter(isByName)) {
        progress(`${description}: ${scenario.what}, membership`);
        comparisons.push(
          await compareServers(
            context,
            [openServer, ourServer],
            {
              ...scenario,
              what: `${scenario.what}, asking for membership`,
              target: undefined,
            },
            description,
            cpu,
          ),
        );
      }
    }
    for (const scenario of wanted(scenarios, settings)) {
      progress(`${description}: ${scenario.what}`);
      comparisons.push(
        await compareServers(context, compared, scenario, description, cpu),
      );
    }
    return comparisons;
  } finally {
    await Promise.all(servers.map(server => server.stop()));
  }
}

/**
 * Keeps all busy for as long, before any is measured: or the first requests would be
 * answered by a backend that has answered others before, and by one that has not.
 */
async function warmUp(
  context: BenchmarkContext,
  servers: CatalogServer[],
  { requests }: Scenario,
): Promise<void> {
  for (const server of servers) {
    const contestant = await server.answering(requests);
    await contestant.measure(WARM_UP_ROUNDS * secondsOf(context));
  }
}

/** @throws Error if there are none */
function wanted(
  scenarios: Scenario[],
  { only = '' }: BenchmarkContext['settings'],
): Scenario[] {
  const exactly = scenarios.filter(({ what }) => what === only);
  const some = exactly.length
    ? exactly
    : scenarios.filter(({ what }) => what.includes(only));
  if (some.length === 0) {
    throw new Error(
      `There are no requests "${only}". There are: ${scenarios
        .map(({ what }) => what)
        .join('; ')}`,
    );
  }
  return some;
}

async function compareServers(
  context: BenchmarkContext,
  servers: CatalogServer[],
  scenario: Scenario,
  description: string,
  cpu: CpuRecorder,
): Promise<Comparison> {
  await assertSameAnswers(servers, scenario);
  const what = `${description}: ${scenario.what}`;
  const [alternative, ours] = await Promise.all(
    servers.map(async server =>
      cpu.recorded(what, await server.answering(scenario.requests), server.pid),
    ),
  );
  const [stockRounds, ourRounds] = await measureInTurn([alternative, ours], {
    ...context.settings,
    seconds: secondsOf(context),
  });
  return compare({
    what,
    ours: { name: ours.name, rounds: ourRounds },
    alternative: { name: alternative.name, rounds: stockRounds },
    target: scenario.target,
  });
}

/**
 * What the stock catalog has to itself of a request for one entity. How much faster a
 * route that does nothing is, no route can be.
 */
async function compareWithNothing(
  context: BenchmarkContext,
  stock: CatalogServer,
  { what, requests }: Scenario,
  description: string,
  cpu: CpuRecorder,
): Promise<Comparison> {
  context.progress(`${description}: nothing`);
  const name = 'nothing';
  const contestants = [
    await stock.answering(requests),
    cpu.recorded(
      `${description}: ${name}`,
      await stock.answering([{ method: 'GET', path: NOTHING_PATH }], name),
      stock.pid,
    ),
  ];
  const [stockRounds, rounds] = await measureInTurn(contestants, {
    ...context.settings,
    seconds: secondsOf(context),
  });
  return compare({
    what: `${description}: ${what}`,
    ours: { name, rounds },
    alternative: { name: stock.name, rounds: stockRounds },
  });
}

// There is a lot to measure: what is only to show that it works is to be over soon.
function secondsOf({ settings }: BenchmarkContext): number {
  return settings.short ? settings.seconds / 4 : settings.seconds;
}

function isByName({ what }: Scenario): boolean {
  return what.startsWith('by name');
}

/** How a size is called in the report. */
function describeSize({ entities, tenants }: Size): string {
  const count = entities.toLocaleString('en');
  return tenants ? `${count}, 1 of ${tenants} tenants` : count;
}

/**
 * Adds tenants with entities, one of them with as many as are measured. They are
 * written as they are stored: to apply them as mutations would take long.
 */
async function addTenants(
  database: Database,
  { entities, tenants = 1 }: Size,
): Promise<void> {
  await withKnex(database.postgres, database.name, async knex => {
    // Beside the default one, which is there already.
    await knex.raw(
      `insert into ${SCHEMA}.tenants (tenant_slug, tenant_name)
       select 'small-' || number, 'Small ' || number
         from generate_series(1, ?::int) number`,
      [tenants - 2],
    );
    await insertEntities(knex, createEntities(0, ENTITIES_OF_OTHERS));
    await knex.raw(
      `insert into ${SCHEMA}.tenants (tenant_slug, tenant_name) values (?, 'Large')`,
      [LARGE_TENANT],
    );
    await knex.raw(
      `insert into ${SCHEMA}.tenant_members (tenant_id, principal, role, created_by)
       select tenant_id, unnest(?::text[]), 'member', 'benchmark'
         from ${SCHEMA}.tenants
        where tenant_slug = ?`,
      [[USER, SERVICE_SUBJECT], LARGE_TENANT],
    );
    for (let first = 0; first < entities; first += BATCH_SIZE) {
      const length = Math.min(BATCH_SIZE, entities - first);
      await insertEntities(knex, createEntities(first, length), LARGE_TENANT);
    }
  });
  // As an operator does once a tenant has grown.
  await operate(database, ({ context }) =>
    givePartition(context, LARGE_TENANT, { maxBlockMs: LONGEST_MOVE_MS }),
  );
}

/** Inserts the same entities into one tenant, or into each that is not the default one. */
async function insertEntities(
  knex: Knex,
  batch: GeneratedEntity[],
  slug?: string,
): Promise<void> {
  const rows = batch.map(({ ref, hash, entity, locationKey, relations }) => ({
    ...{ ref, hash, entity, locationKey, relations },
  }));
  await knex.raw(
    `with batch as (
       select row ->> 'ref' as ref, row ->> 'hash' as hash, row -> 'entity' as entity,
              row ->> 'locationKey' as location_key, row -> 'relations' as relations
         from jsonb_array_elements(?::jsonb) row
     ),
     inserted as (
       insert into ${SCHEMA}.entities
         (tenant_id, entity_id, entity_ref, entity_kind, entity_namespace, entity_name,
          final_entity, hash)
       select tenant_id, (entity #>> '{metadata,uid}')::uuid, ref,
              split_part(ref, ':', 1), split_part(split_part(ref, ':', 2), '/', 1),
              split_part(ref, '/', 2), entity, hash
         from batch, ${SCHEMA}.tenants
        where case when ?::text is null then tenant_slug <> 'default'
                   else tenant_slug = ? end
       returning tenant_id, entity_id, entity_ref
     ),
     related as (
       insert into ${SCHEMA}.relations
         (tenant_id, originating_entity_id, source_entity_ref, type, target_entity_ref)
       select tenant_id, entity_id, ref, relation ->> 'type', relation ->> 'targetRef'
         from inserted join batch on ref = entity_ref,
              jsonb_array_elements(relations) relation
     )
     insert into ${SCHEMA}.refresh_state (tenant_id, entity_id, location_key)
     select tenant_id, entity_id, location_key
       from inserted join batch on ref = entity_ref`,
    [JSON.stringify(rows), slug ?? null, slug ?? null],
  );
}
