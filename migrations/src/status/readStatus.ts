import { readAdoptionStatus } from '../adopt/readAdoption';
import { RETENTION_HOURS } from '../cleanup/cleanup';
import { readStepRecords } from '../engine/bookkeeping';
import type { StepRecord } from '../engine/bookkeeping';
import type { Executor } from '../engine/Executor';
import { STATE_TABLE } from '../engine/MigrationState';
import type { PhaseNumber, StepContext } from '../engine/Step';
import type { TenancyMigration } from '../engine/TenancyMigration';
import { phases } from '../phases';
import { relationExists } from '../schema/lookups';
import { isSwapped, oldName } from '../schema/partitions';
import { TENANT_TABLES } from '../schema/tables';
import { readLeftovers } from './leftovers';
import type {
  StatusReport,
  StepStatus,
  SwapStatus,
  WorkStatus,
} from './StatusReport';
import { readChangeLog, readTables } from './tables';
import { operatorCommand } from '../operatorCommand';

const HOUR_MS = 3_600_000;

/** Reads where the migration stands, from catalogs and statistics: no table is scanned. */
export async function readStatus(
  migration: Pick<TenancyMigration, 'context' | 'operator' | 'completedPhase'>,
): Promise<StatusReport> {
  const { executor, settings } = migration.context;
  const records = await readStepRecords(executor);
  const steps = stepsOf(records);
  const phase = await migration.completedPhase();
  const swap = await readSwap(migration.context);
  const adoption = await readAdoptionStatus(migration.context);
  return {
    schema: settings.schema,
    phase,
    phaseBegun: phaseBegun(steps, phase),
    steps,
    next: nextOf(phase, swap),
    operator: (await migration.operator()) ?? null,
    tables: await readTables(executor),
    work: await readWork(executor),
    swap,
    changeLog: await readChangeLog(executor),
    adoption: adoption.engineTables || adoption.begun ? adoption : null,
    leftovers: await readLeftovers(executor),
  };
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

function nextOf(
  phase: PhaseNumber | 0,
  { oldTables, cleanupFrom }: SwapStatus,
): StatusReport['next'] {
  const next = phases.find(({ number }) => number > phase);
  if (next && next.number < 6) {
    return {
      what: `Phase ${next.number}: ${next.title}`,
      command: operatorCommand(`phase${next.number}`),
    };
  }
  if (oldTables.length === 0) {
    return { what: 'Nothing: the migration is finished', command: null };
  }
  if (phase === 6 || (cleanupFrom && cleanupFrom <= new Date())) {
    return { what: 'Drop the old tables', command: operatorCommand('cleanup') };
  }
  return {
    what: 'Phase 6: set MULTI_TENANCY_ENABLED=true, restart the application, and check it',
    command: operatorCommand('phase6', '--base-url <url>'),
  };
}

async function readSwap({ executor, state }: StepContext): Promise<SwapStatus> {
  const swapped = await isSwapped(executor);
  const remembered = await state.get<{ at: string }>('swap');
  const swappedAt = swapped && remembered ? new Date(remembered.at) : null;
  const oldTables: string[] = [];
  for (const table of TENANT_TABLES.map(oldName)) {
    if (await relationExists(executor, table)) {
      oldTables.push(table);
    }
  }
  return {
    swapped,
    swappedAt,
    oldTables,
    cleanupFrom:
      swappedAt && oldTables.length > 0
        ? new Date(swappedAt.getTime() + RETENTION_HOURS * HOUR_MS)
        : null,
  };
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
