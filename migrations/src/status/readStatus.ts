import { readAdoptionStatus } from '../adopt/status';
import type { AdoptionStatus } from '../adopt/status';
import { readStepRecords } from '../engine/journal';
import type { StepRecord } from '../engine/journal';
import type { Executor } from '../engine/Executor';
import { STATE_TABLE } from '../engine/MigrationState';
import type { PhaseNumber } from '../engine/Step';
import type { TenancyMigration } from '../engine/TenancyMigration';
import { operatorCommand } from '../operatorCommand';
import { readUnfinishedMoves } from '../partitions/leftovers';
import { phases } from '../phases';
import { readWayBack } from '../rollback/rollback';
import type { WayBack } from '../rollback/rollback';
import { relationExists } from '../schema/lookups';
import { readLeftovers } from './leftovers';
import { decideNext, readCatalogTables } from './next';
import type { StatusReport, StepStatus, WorkStatus } from './StatusReport';
import { readChangeLog, readSwap, readTables } from './tables';

/**
 * Reads where the migration stands, from catalogs and statistics. No table in use is
 * scanned.
 */
export async function readStatus(
  migration: Pick<
    TenancyMigration,
    'context' | 'operator' | 'completedPhase' | 'unfinishedUndo'
  >,
): Promise<StatusReport> {
  const { executor, settings } = migration.context;
  const records = await readStepRecords(executor);
  const steps = stepsOf(records);
  const phase = await migration.completedPhase();
  const swap = await readSwap(migration.context);
  const adoption = await readAdoptionStatus(migration.context);
  const back = await readWayBack(
    migration,
    records.map(({ name }) => name),
  );
  return {
    schema: settings.schema,
    phase,
    phaseBegun: phaseBegun(steps, phase),
    steps,
    rollbackBegun: (await migration.unfinishedUndo()) !== undefined,
    next: decideNext({
      schema: settings.schema,
      phase,
      tables: await readCatalogTables(migration.context, phase),
      adoption,
      swap,
    }),
    back: back ?? wayBackOfAdoption(records, adoption),
    operator: (await migration.operator()) ?? null,
    tables: await readTables(executor),
    work: await readWork(executor),
    swap,
    changeLog: await readChangeLog(executor),
    adoption: adoption.engineTables || adoption.begun ? adoption : null,
    moves: await readUnfinishedMoves(migration.context),
    leftovers: await readLeftovers(executor),
  };
}

/** An adoption can be undone as long as no phase has begun. */
function wayBackOfAdoption(
  records: StepRecord[],
  { begun }: AdoptionStatus,
): WayBack | null {
  return begun && records.length === 0
    ? { what: 'the adoption is undone', command: operatorCommand('unadopt') }
    : null;
}

function stepsOf(records: StepRecord[]): StepStatus[] {
  return phases.flatMap(({ number, steps }) =>
    steps.map(({ name, title }) => ({
      name,
      title,
      phase: number,
      doneAt: records.find(record => record.name === name)?.time ?? null,
    })),
  );
}

function phaseBegun(
  steps: StepStatus[],
  completed: PhaseNumber | 0,
): PhaseNumber | null {
  const step = steps.find(
    ({ phase, doneAt }) => phase > completed && doneAt !== null,
  );
  return step?.phase ?? null;
}

/** Steps that work in ranges of pages keep a cursor of the same form. */
async function readWork(executor: Executor): Promise<WorkStatus[]> {
  if (!(await relationExists(executor, STATE_TABLE))) {
    return [];
  }
  return executor.read<WorkStatus>(
    `select key as name,
            least((value -> 'next')::float8, (value -> 'end')::float8) as "pagesDone",
            (value -> 'end')::float8 as pages
       from ${STATE_TABLE}
      where jsonb_typeof(value -> 'next') = 'number'
        and jsonb_typeof(value -> 'end') = 'number'
      order by key`,
  );
}
