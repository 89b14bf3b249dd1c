import { refuseShapeToGoBack } from '../checks/examineShape';
import type { Executor } from '../engine/Executor';
import { STATE_TABLE } from '../engine/MigrationState';
import type { PhaseNumber, Step, StepContext } from '../engine/Step';
import type { TenancyMigration } from '../engine/TenancyMigration';
import { RefusedError } from '../errors';
import { operatorCommand } from '../operatorCommand';
import { phases } from '../phases';
import { tenantsTable } from '../phases/phase1_tenant_column/10_tenants_table';
import { roles } from '../phases/phase3_application/40_roles';
import { partitionedTables } from '../phases/phase5_partitions/10_partitioned_tables';
import { swap } from '../phases/phase5_partitions/70_swap';
import { readProductLosses } from '../productTables/losses';
import { refusePublications } from '../schema/publications';
import { columnExists, relationExists } from '../schema/lookups';
import {
  archiveName,
  isSwapped,
  oldName,
  waitingName,
} from '../schema/partitions';
import { DEFAULT_TENANT_ID, TENANT_TABLES } from '../schema/tables';
import { escapeIdentifier } from '../sql';
import { enumerate, formatThings } from '../text';
import { adoptedEngine } from '../adopt/state';
import { unadoptAll } from '../adopt/unadopt';
import { refuseApplicationSessions } from './applicationSessions';
import { dropCatalog, readCatalogToDrop } from './dropCatalog';
import { describeTenantSchemas, readTenantSchemas } from './tenantSchemas';
import type { Interference } from './applicationSessions';

/** Rows that a rollback leaves in the archive, because only it has room for them. */
export interface ArchivedRows {
  table: string;
  rows: number;
  tenants: number;
}

export interface RollbackReport {
  /** The names of the steps that were undone, in this order. */
  undone: string[];
  /** Rows of other tenants than the default one. */
  archived: ArchivedRows[];
}

/**
 * Goes back (specification, Rollback).
 *
 * @param to - the phase whose result remains, 0 for the state before phase 1.
 *   Without it, to the end of an undo that was killed, or back by one safe point: out
 *   of the swapped tables if they are in use, otherwise out of the last phase of
 *   which anything is done. The archive of an earlier rollback stays as it is:
 *   dropping it takes a phase to go back to.
 * @throws {@link RefusedError} if the tables of before were cleaned up, or if rows
 *   would be lost; {@link ApplicationConnectedError} while the application is
 *   connected and would lose what it works with
 */
export async function rollback(
  migration: TenancyMigration,
  to?: PhaseNumber | 0,
): Promise<RollbackReport> {
  const { context } = migration;
  if (!(await relationExists(context.executor, STATE_TABLE))) {
    return { undone: [], archived: [] };
  }
  const before = await migration.completedSteps();
  const created = await readCatalogToDrop(context);
  if (created && !(to !== undefined && to >= 5)) {
    await refuseAllButTheWholeWay(migration, to);
    await migration.undoAll(() => dropCatalog(context, created));
    return { undone: [...before].reverse(), archived: [] };
  }
  const first = await firstToUndo(migration, to);
  if (first && isBeforeOrAt(first, swap)) {
    await refuseWithoutOldTables(context);
    if (await isSwapped(context.executor)) {
      await refusePublications(context, 'The tables cannot be swapped');
      await refuseShapeToGoBack(context);
    }
  }
  if (first) {
    const interference = await interferenceOf(context, first, before);
    if (interference) {
      await refuseApplicationSessions(context, interference);
    }
    if (isBeforeOrAt(first, swap)) {
      await unadoptAll(context);
    }
    await migration.undoFrom(first);
  }
  const after = await migration.completedSteps();
  return {
    undone: before.filter(name => !after.includes(name)).reverse(),
    archived: await readArchivedRows(context),
  };
}

/** Tables that were created have none of before, to which a part of the way would lead. */
async function refuseAllButTheWholeWay(
  migration: TenancyMigration,
  to: PhaseNumber | 0 | undefined,
): Promise<void> {
  const { context } = migration;
  if (to !== 0) {
    throw new RefusedError(
      'The tables of tenants were created empty: there are none of before to go back to. ' +
        `Run "${operatorCommand('rollback', '--to 0')}", which drops them.`,
    );
  }
  await refuseApplicationSessions(context, {
    takes: 'the tables of tenants',
    advice:
      'Set MULTI_TENANCY_ENABLED to false and restart every instance of the ' +
      'application; then run the command again. Or give --force.',
  });
  const losses = context.settings.force ? [] : await readLosses(migration, to);
  if (losses.length > 0) {
    throw new RefusedError(
      `These would be lost:\n${losses
        .map(loss => `- ${loss}`)
        .join('\n')}\nGive --force if that is what you want.`,
    );
  }
}

/**
 * What a rollback deletes that is nowhere else, a sentence for each: rows of other
 * tenants, for which the tables of before have no room, members of tenants, their
 * engines, and the tenants themselves.
 */
export async function readLosses(
  migration: TenancyMigration,
  to?: PhaseNumber | 0,
): Promise<string[]> {
  const { executor } = migration.context;
  const losses: string[] = [];
  if ((await readCatalogToDrop(migration.context))?.dropping) {
    // The losses were accepted by the run that has begun to drop.
    return losses;
  }
  const first = await firstToUndo(migration, to);
  if (first && isBeforeOrAt(first, partitionedTables)) {
    const swapped = await isSwapped(executor);
    for (const table of TENANT_TABLES) {
      const tenants = await readRowsOfOtherTenants(
        executor,
        swapped ? table : await waitingName(executor, table),
      );
      if (tenants.length > 0) {
        losses.push(`${table}: ${describeRows(tenants)}`);
      }
    }
    losses.push(...(await readProductLosses(executor)));
  }
  if (first && isBeforeOrAt(first, tenantsTable)) {
    losses.push(...(await readTenantsToDelete(executor)));
    losses.push(...describeTenantSchemas(await readTenantSchemas(executor)));
    losses.push(...(await readOwnRows(migration.context)));
  }
  return losses;
}

/** Tables that were created go with the default tenant's rows, which an adopted catalog has too. */
async function readOwnRows(context: StepContext): Promise<string[]> {
  if (
    !(await readCatalogToDrop(context)) ||
    (await adoptedEngine(context)) ||
    !(await columnExists(context.executor, 'entities', 'tenant_id'))
  ) {
    return [];
  }
  const [{ rows }] = await context.executor.read<{ rows: number }>(
    'select count(*)::int as rows from entities where tenant_id = $1',
    [DEFAULT_TENANT_ID],
  );
  return rows > 0
    ? [
        `entities: ${formatThings(
          rows,
          'row',
        )} of the default tenant, which no adopted catalog has`,
      ]
    : [];
}

async function readTenantsToDelete(executor: Executor): Promise<string[]> {
  if (!(await relationExists(executor, 'tenants'))) {
    return [];
  }
  const tenants = await executor.read<{ slug: string }>(
    'select tenant_slug as slug from tenants where tenant_id <> $1 order by 1',
    [DEFAULT_TENANT_ID],
  );
  return tenants.length > 0
    ? [
        `tenants: ${formatThings(tenants.length, 'other tenant')} (${enumerate(
          tenants.map(({ slug }) => slug),
        )})`,
      ]
    : [];
}

/**
 * The way back from where the migration stands.
 *
 * @public
 */
export interface WayBack {
  /** A description. */
  what: string;
  /** The command for it. */
  command: string;
}

/** The next way back; `null` where there is none. */
export async function readWayBack(
  migration: Pick<TenancyMigration, 'context' | 'unfinishedUndo'>,
  completed: string[],
): Promise<WayBack | null> {
  const { executor } = migration.context;
  const command = operatorCommand('rollback');
  if (await readCatalogToDrop(migration.context)) {
    return {
      what: 'the tables of tenants are dropped, and the stock catalog keeps what it has',
      command: operatorCommand('rollback', '--to 0'),
    };
  }
  if (await migration.unfinishedUndo()) {
    return { what: 'the rollback that was begun goes on to its end', command };
  }
  if (await isSwapped(executor)) {
    return (await missingOldTable(executor))
      ? null
      : {
          what: 'with MULTI_TENANCY_ENABLED=false, the tables of before the swap take their place',
          command,
        };
  }
  const first = await safePoint(migration.context, completed);
  if (first) {
    const phase = phases.find(({ steps }) => steps.includes(first))!;
    return { what: `phase ${phase.number} is undone`, command };
  }
  return (await relationExists(executor, archiveName('entities')))
    ? {
        what: 'the partitioned tables, which are kept beside those in use, are dropped',
        command: operatorCommand('rollback', '--to 4'),
      }
    : null;
}

async function firstToUndo(
  migration: Pick<
    TenancyMigration,
    'context' | 'unfinishedUndo' | 'completedSteps'
  >,
  to: PhaseNumber | 0 | undefined,
): Promise<Step | undefined> {
  return to === undefined
    ? (await migration.unfinishedUndo()) ??
        (await safePoint(migration.context, await migration.completedSteps()))
    : phases.find(phase => phase.number > to)?.steps[0];
}

/**
 * What an undo takes from sessions of `portal_app`. Before the swap, a rollback of
 * phase 5 or 4 takes nothing from them: they work with the same tables afterwards.
 */
async function interferenceOf(
  { executor }: StepContext,
  first: Step,
  completed: string[],
): Promise<Interference | undefined> {
  if (isBeforeOrAt(first, swap) && (await isSwapped(executor))) {
    return {
      takes: 'the tables of tenants',
      advice:
        'Set MULTI_TENANCY_ENABLED to false and restart every instance of the ' +
        'application, so that it works without them; then run the command again. ' +
        'Or give --force: an application that runs with the flag on answers with ' +
        'status 503 from then on, until it is restarted with the flag off.',
    };
  }
  if (isBeforeOrAt(first, roles) && completed.includes(roles.name)) {
    return {
      takes: 'the rights to its tables',
      advice:
        'Deploy the application of before, which does not connect as portal_app, ' +
        'and run the command again. Or give --force: what still connects as ' +
        'portal_app is refused from then on.',
    };
  }
  return undefined;
}

async function safePoint(
  { executor }: StepContext,
  completed: string[],
): Promise<Step | undefined> {
  if (await isSwapped(executor)) {
    return swap;
  }
  if (await relationExists(executor, archiveName('entities'))) {
    // What a killed rollback had left to do, if anything.
    return completed.includes(swap.name) ? swap : undefined;
  }
  const last = [...phases]
    .reverse()
    .find(({ steps }) => steps.some(step => completed.includes(step.name)));
  return last?.steps[0];
}

function isBeforeOrAt(step: Step, other: Step): boolean {
  const all = phases.flatMap(({ steps }) => steps);
  return all.indexOf(step) <= all.indexOf(other);
}

async function refuseWithoutOldTables({
  executor,
}: StepContext): Promise<void> {
  if (!(await isSwapped(executor))) {
    return;
  }
  const missing = await missingOldTable(executor);
  if (missing) {
    throw new RefusedError(
      `${missing} is gone: the tables of before the swap were cleaned up. ` +
        'Only a backup has what they held.',
    );
  }
}

async function missingOldTable(
  executor: Executor,
): Promise<string | undefined> {
  for (const table of TENANT_TABLES.map(oldName)) {
    if (!(await relationExists(executor, table))) {
      return table;
    }
  }
  return undefined;
}

/** What the archive holds of other tenants than the default one. */
async function readArchivedRows({
  executor,
}: StepContext): Promise<ArchivedRows[]> {
  const archived: ArchivedRows[] = [];
  for (const table of TENANT_TABLES.map(archiveName)) {
    // A user's table of that name has no tenant_id.
    if (await columnExists(executor, table, 'tenant_id')) {
      const [counts] = await executor.read<Omit<ArchivedRows, 'table'>>(
        `select count(*)::int as rows, count(distinct tenant_id)::int as tenants
           from ${table} where tenant_id <> $1`,
        [DEFAULT_TENANT_ID],
      );
      archived.push({ table, ...counts });
    }
  }
  return archived;
}

/**
 * Rows of a tenant other than the default one.
 *
 * @public
 */
export interface TenantRows {
  /** Its slug; the id of a tenant that is not registered. */
  tenant: string;
  /** How many there are. */
  rows: number;
}

// The number of tenants that a sentence names.
const LISTED = 5;

/**
 * Counts the rows of the other tenants in a table, those with most rows first. The
 * partition of the default tenant is left out by PostgreSQL.
 */
export async function readRowsOfOtherTenants(
  executor: Executor,
  table: string,
): Promise<TenantRows[]> {
  // A user's table of that name has no tenant_id.
  if (!(await columnExists(executor, table, 'tenant_id'))) {
    return [];
  }
  return executor.read<TenantRows>(
    `select coalesce(t.tenant_slug, r.tenant_id::text) as tenant, r.rows
       from (select tenant_id, count(*)::float8 as rows
               from ${escapeIdentifier(table)} where tenant_id <> $1
              group by tenant_id) r
       left join tenants t using (tenant_id)
      order by r.rows desc, 1`,
    [DEFAULT_TENANT_ID],
  );
}

/** `2,000 rows of 2 other tenants (acme 1,500, globex 500)`. */
export function describeRows(tenants: TenantRows[]): string {
  const total = tenants.reduce((sum, { rows }) => sum + rows, 0);
  const named = tenants
    .slice(0, LISTED)
    .map(({ tenant, rows }) => `${tenant} ${rows.toLocaleString('en-US')}`);
  const more = tenants.length - named.length;
  return (
    `${formatThings(total, 'row')} of ` +
    `${formatThings(tenants.length, 'other tenant')} (${[
      ...named,
      ...(more > 0 ? [`${more.toLocaleString('en-US')} more`] : []),
    ].join(', ')})`
  );
}
