import { formatEntities, readAdoptionStatus } from '../adopt/status';
import type { AdoptionStatus } from '../adopt/status';
import type { PhaseNumber, StepContext } from '../engine/Step';
import { LAST_BEFORE_CUTOVER } from '../engine/TenancyMigration';
import type { TenancyMigration } from '../engine/TenancyMigration';
import { RefusedError } from '../errors';
import { operatorCommand } from '../operatorCommand';
import { phases } from '../phases';
import { readCreatedCatalog } from '../schema/createdCatalog';
import { columnExists, existingTables } from '../schema/lookups';
import { archiveName, isSwapped, oldName } from '../schema/partitions';
import { missingTables, readTableFacts } from '../schema/tableFacts';
import type { TableFacts } from '../schema/tableFacts';
import {
  DEFAULT_TENANT_ID,
  RETENTION_HOURS,
  TENANT_TABLES,
} from '../schema/tables';
import { enumerate } from '../text';

/** What an operator does next, and the command for it. */
export interface NextStep {
  what: string;
  command: string | null;
}

/** What comes next, in a sentence. */
export function describeNext({ what, command }: NextStep): string {
  return `Next: ${what}${command ? ` (${command})` : ''}`;
}

/** Phase 4 shuts an old application out. */
const DEPLOY =
  'Deploy the new application with MULTI_TENANCY_ENABLED unset, which connects as portal_app. ' +
  'When no old one is connected, ';

/**
 * Reads where a migration stands, and tells what comes next: the one answer of all commands and
 * of the backend. Nothing is locked.
 *
 * @param known - the adoption, where the caller has read it
 */
export async function readNext(
  migration: Pick<
    TenancyMigration,
    'context' | 'completedPhase' | 'isUpToDate' | 'unfinishedUndo'
  >,
  known?: AdoptionStatus,
): Promise<NextStep> {
  const { context } = migration;
  const phase = await migration.completedPhase();
  const created = await readCreatedCatalog(context);
  const isUndone = (await migration.unfinishedUndo()) !== undefined;
  if (created?.dropping || isUndone) {
    return {
      what: 'Bring the way back to its end',
      command: operatorCommand('rollback', isUndone ? '' : '--to 0'),
    };
  }
  // Phase 5 creates the tables then: none are missing, and no application works on them.
  const isCreated = created !== undefined;
  const tables = await readTableFacts(context);
  const missing = isCreated ? [] : missingTables(tables);
  const adoption = known ?? (await readAdoptionStatus(context));
  // The adoption was begun and is not complete, or there is no other catalog. It also runs the
  // phases that create the tables.
  if (
    adoption.engineTables &&
    !adoption.adopted &&
    (adoption.begun ||
      missing.length === TENANT_TABLES.length ||
      (isCreated && phase < LAST_BEFORE_CUTOVER) ||
      (phase >= LAST_BEFORE_CUTOVER &&
        adoption.engineEntities > 0 &&
        !(await hasEntities(context, tables))))
  ) {
    return adoptionStep(adoption);
  }
  if (phase >= LAST_BEFORE_CUTOVER && !(await migration.isUpToDate())) {
    return {
      what: 'Bring the tables of this product up to date',
      command: operatorCommand('upgrade'),
    };
  }
  return missing.length > 0
    ? tablesStep(context.settings.schema, missing)
    : phaseStep(context, phase, isCreated);
}

async function phaseStep(
  context: StepContext,
  phase: PhaseNumber | 0,
  isCreated: boolean,
): Promise<NextStep> {
  const next = phases.find(({ number }) => number > phase);
  if (next && next.number < 6) {
    return {
      what: `${next.number === 4 && !isCreated ? DEPLOY : ''}Phase ${
        next.number
      }: ${next.title}`,
      command: operatorCommand(`phase${next.number}`),
    };
  }
  const { oldTables, cleanupFrom } = await readSwap(context);
  if (
    oldTables.length > 0 &&
    (phase === 6 || (cleanupFrom && cleanupFrom <= new Date()))
  ) {
    return { what: 'Drop the old tables', command: operatorCommand('cleanup') };
  }
  return phase === 6
    ? { what: 'Nothing: the migration is finished', command: null }
    : {
        what: 'Phase 6: set MULTI_TENANCY_ENABLED=true, restart the application, and check it',
        command: operatorCommand('phase6', '--base-url <url>'),
      };
}

function adoptionStep(adoption: AdoptionStatus): NextStep {
  const catalog = describeCatalog(adoption);
  if (adoption.ending) {
    return {
      what: `End the adoption of ${catalog}`,
      command: operatorCommand('unadopt'),
    };
  }
  return {
    what: adoption.begun
      ? `Bring the adoption of ${catalog}, to its end`
      : `Adopt ${catalog}`,
    command:
      adoption.catalogSchema === undefined
        ? operatorCommand('adopt', '--catalog-schema <name>')
        : operatorCommand('adopt'),
  };
}

/** The stock catalog in words: `the stock catalog in the schema "public", with 402 entities`. */
export function describeCatalog(adoption: AdoptionStatus): string {
  const { catalogSchema } = adoption;
  return catalogSchema === undefined
    ? 'the stock catalog, of which several schemas have the tables'
    : `the stock catalog in the schema "${catalogSchema}", with ` +
        `${formatEntities(adoption)}`;
}

function tablesStep(schema: string, missing: string[]): NextStep {
  return missing.length < TENANT_TABLES.length
    ? {
        what:
          `Name the schema of the catalog: "${schema}" has no ` +
          `${missing.join(' and no ')}`,
        command: operatorCommand('status', '--schema <name>'),
      }
    : {
        what: `Create the tables, and run the phases on them: "${schema}" has no catalog yet. Or give the --schema that has one`,
        command: operatorCommand('all'),
      };
}

/**
 * Refuses a migration that neither finds the tables nor creates them.
 *
 * @throws {@link RefusedError} where not all of them are there, before anything is
 *   changed
 */
export async function refuseWithoutTables(
  migration: TenancyMigration,
): Promise<void> {
  const { context } = migration;
  if (await migration.creates()) {
    return;
  }
  const missing = missingTables(await readTableFacts(context));
  if (missing.length > 0) {
    const next = await readNext(migration);
    throw new RefusedError(
      `The schema "${context.settings.schema}" has no ${enumerate(missing)}, ` +
        `which phase 1 gives a column. ${describeNext(next)}.`,
    );
  }
}

/** Whether the default tenant has entities after phase 5; true where the login may not look. */
async function hasEntities(
  { executor }: StepContext,
  tables: TableFacts[],
): Promise<boolean> {
  if (!tables.some(({ name, readable }) => name === 'entities' && readable)) {
    return true;
  }
  const [{ found }] = await executor.read<{ found: boolean }>(
    `select exists (select from entities where tenant_id = '${DEFAULT_TENANT_ID}') as found`,
  );
  return found;
}

/** The swap of phase 5, and the tables of before it. */
export interface SwapStatus {
  /** Whether the partitioned tables are in use. */
  swapped: boolean;
  /** Whether a rollback has put the tables of before back, and kept the others. */
  undone: boolean;
  swappedAt: Date | null;
  /** The tables of before that are still there. */
  oldTables: string[];
  /** From when on `cleanup` drops the old tables without `--force`. */
  cleanupFrom: Date | null;
}

const HOUR_MS = 3_600_000;

/** How things stand with the swap of phase 5. */
export async function readSwap({
  executor,
  state,
}: Pick<StepContext, 'executor' | 'state'>): Promise<SwapStatus> {
  const swapped = await isSwapped(executor);
  const remembered = await state.get<{ at: string }>('swap');
  const swappedAt = swapped && remembered ? new Date(remembered.at) : null;
  // Without a swap, tables of these names are others'.
  const oldTables = swappedAt
    ? await existingTables(executor, TENANT_TABLES.map(oldName))
    : [];
  return {
    swapped,
    undone:
      // A user's table of that name has no tenant_id.
      !swapped &&
      (await columnExists(executor, archiveName('entities'), 'tenant_id')),
    swappedAt,
    oldTables,
    cleanupFrom:
      swappedAt && oldTables.length > 0
        ? new Date(swappedAt.getTime() + RETENTION_HOURS * HOUR_MS)
        : null,
  };
}
