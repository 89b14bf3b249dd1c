import type { BenchmarkContext } from '../harness/Benchmark';
import { type Comparison, compare } from '../harness/comparison';
import {
  type Database,
  runStatements,
  secondsOf,
  withCopyOf,
} from './database';
import { backfill, DEFAULT_TENANT_ID, TENANT_TABLES } from './engine';
import { measureSides } from './measureSides';
import { runPhase, SCHEMA } from './operator';
import { StepClock } from './StepClock';

/**
 * Compares the backfill of phase 2 with what it could be at most: one UPDATE of
 * all rows, which would lock each of them until the last one is done, and one
 * INSERT … SELECT into tables with the same indexes.
 *
 * @param start - a catalog before phase 2, of which each side gets a copy
 */
export async function compareBackfill(
  context: BenchmarkContext,
  start: Database,
  rows: number,
): Promise<Comparison[]> {
  const [ours, update, insert] = await measureSides(context, rows, [
    { name: 'phase 2, 2_20_backfill', measure: () => withCopyOf(start, fill) },
    {
      name: 'one UPDATE per table',
      measure: () => withCopyOf(start, updateAll),
    },
    {
      name: 'INSERT … SELECT',
      measure: () => withCopyOf(start, insertAll),
    },
  ]);
  return [insert, update].map(alternative =>
    compare({ what: 'backfill', unit: 'rows', ours, alternative }),
  );
}

async function fill(database: Database): Promise<number> {
  const clock = new StepClock();
  await secondsOf(database, () => runPhase(database, 2, clock.reporter));
  return clock.secondsOf([backfill]);
}

async function updateAll(database: Database): Promise<number> {
  const statements = TENANT_TABLES.map(
    table => `update ${SCHEMA}.${table} set tenant_id = '${DEFAULT_TENANT_ID}'`,
  );
  return secondsOf(database, () => runStatements(database, statements));
}

async function insertAll(database: Database): Promise<number> {
  // All indexes, but no foreign keys: those say nothing about tenant_id, and the
  // backfill does not check them either.
  await runStatements(database, [
    'create schema bare',
    ...TENANT_TABLES.map(
      table =>
        `create table bare.${table} (like ${SCHEMA}.${table} including all)`,
    ),
  ]);
  const statements = TENANT_TABLES.map(
    table => `insert into bare.${table} select * from ${SCHEMA}.${table}`,
  );
  return secondsOf(database, () => runStatements(database, statements));
}
