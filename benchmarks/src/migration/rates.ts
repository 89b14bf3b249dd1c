import type { BenchmarkContext } from '../harness/Benchmark';
import { compare, type Comparison, type Measured } from '../harness/comparison';
import { SCHEMA } from '../harness/backend';
import { type Database, runStatements, withClient } from '../harness/database';
import { goBack, runSteps } from '../harness/operator';
import {
  catchAllPartition,
  copyRows,
  DEFAULT_TENANT_ID,
  defaultTenantPartition,
  partitionedName,
  swap,
  TENANT_TABLES,
} from './internals';

const INSERT_INTO_BARE = TENANT_TABLES.map(
  table => `insert into bare.${table} select * from ${SCHEMA}.${table}`,
);

/** Something that is measured by the seconds that it takes for all rows. */
interface Candidate {
  name: string;
  measure(): Promise<number>;
}

/**
 * Measures candidates in turn, and in the opposite order in every other round: what comes later
 * in a round finds other things in memory and on the disk.
 */
async function measureSeconds(
  { progress, settings }: BenchmarkContext,
  rows: number,
  candidates: Candidate[],
): Promise<Measured[]> {
  const measured: Measured[] = candidates.map(({ name }) => ({
    name,
    rounds: [],
  }));
  for (let round = 0; round < settings.rounds; round += 1) {
    const order = [...candidates.keys()];
    for (const index of round % 2 === 0 ? order : order.reverse()) {
      const seconds = await candidates[index].measure();
      progress(`${candidates[index].name}: ${seconds.toFixed(1)} s`);
      measured[index].rounds.push({ count: rows, perSecond: rows / seconds });
    }
  }
  return measured;
}

/** Seconds of statements after a checkpoint, since earlier writes are flushed then. */
async function secondsOf(
  database: Database,
  statements: string[],
): Promise<number> {
  await runStatements(database, ['checkpoint']);
  const start = performance.now();
  await runStatements(database, statements);
  return (performance.now() - start) / 1000;
}

const COPY_TARGET = 0.6;

/**
 * Compares the copy of phase 5 with one INSERT … SELECT per table into partitioned tables that
 * have the same indexes, constraints and foreign keys from the start.
 *
 * @param database - a catalog after phase 4, which is left as it was
 */
export async function compareCopy(
  context: BenchmarkContext,
  database: Database,
  rows: number,
): Promise<Comparison> {
  // The alternative fills tables like those that ours has built.
  await build(database);
  await createBareTables(database);
  await goBack(database, 4);

  const bare = TENANT_TABLES.map(table => `bare.${table}`).join(', ');
  const [ours, alternative] = await measureSeconds(context, rows, [
    {
      name: 'phase 5, 5_30 to 5_60',
      measure: async () => {
        const seconds = await build(database);
        await goBack(database, 4);
        return seconds;
      },
    },
    {
      name: 'INSERT … SELECT',
      measure: async () => {
        const seconds = await secondsOf(database, INSERT_INTO_BARE);
        await runStatements(database, [`truncate ${bare}`]);
        return seconds;
      },
    },
  ]);
  const target = COPY_TARGET;
  return compare({ what: 'copy', unit: 'rows', ours, alternative, target });
}

/** Runs phase 5 until the copies are complete, and returns the seconds that these take. */
function build(database: Database): Promise<number> {
  return runSteps(database, 5, { from: copyRows, until: swap });
}

/** Creates partitioned tables like those that phase 5 has built, without a row. */
async function createBareTables(database: Database): Promise<void> {
  await runStatements(database, [
    'create schema bare',
    ...TENANT_TABLES.flatMap(table => [
      `create table bare.${table} (
         like ${SCHEMA}.${partitionedName(table)} including all
       ) partition by list (tenant_id)`,
      `create table bare.${defaultTenantPartition(table)}
         partition of bare.${table} for values in ('${DEFAULT_TENANT_ID}')`,
      `create table bare.${catchAllPartition(table)}
         partition of bare.${table} default`,
    ]),
    ...(await readForeignKeys(database)),
  ]);
}

/** The statements for the foreign keys, which LIKE leaves out. */
async function readForeignKeys(database: Database): Promise<string[]> {
  return withClient(database, async client => {
    const { rows } = await client.query<{ statement: string }>(
      `select format('alter table %s add %s', conrelid::regclass, pg_get_constraintdef(oid))
                as statement
         from pg_constraint
        where contype = 'f' and conparentid = 0
          and conrelid = any ($1::text[]::regclass[])`,
      [TENANT_TABLES.map(table => `${SCHEMA}.${partitionedName(table)}`)],
    );
    return rows.map(({ statement }) =>
      statement.replaceAll(
        new RegExp(`${SCHEMA}\\.(\\w+)_partitioned`, 'g'),
        'bare.$1',
      ),
    );
  });
}
