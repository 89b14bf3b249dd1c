import { compareAdoption } from '../adopt/compare';
import {
  adoptCommand,
  describeTenant,
  ENGINE_TABLES,
  engineTable,
} from '../adopt/engine';
import type { Engine } from '../adopt/engine';
import { describeHiddenRows } from '../adopt/rights';
import {
  describeEngines,
  readAdoptionStatus,
  renderFaults,
} from '../adopt/status';
import { SNAPSHOT } from '../copy/replay';
import { CHANGE_LOG } from '../copy/changeLog';
import { findCopyProblems } from '../copy/compare';
import { readerOf } from '../engine/Executor';
import type { Executor } from '../engine/Executor';
import type { PhaseNumber, StepContext } from '../engine/Step';
import type { TenancyMigration } from '../engine/TenancyMigration';
import { readCompletedSteps } from '../engine/journal';
import { MigrationError } from '../errors';
import { examineIsolation } from '../checks/examineIsolation';
import { describeFinding } from '../checks/Finding';
import { checkCounts } from '../phases/phase2_backfill/checkCounts';
import { verification } from '../phases/phase4_row_level_security/50_verification';
import { firstCatchUp } from '../phases/phase5_partitions/40_catch_up';
import { findDifferences } from '../phases/phase5_partitions/15_search_tables/differences';
import { REPAIR } from '../phases/phase5_partitions/15_search_tables/functions';
import { describeCopies } from '../copy/TableCopy';
import { APP_ROLE } from '../roles';
import { lostWayBack } from '../rollback/wayBack';
import { relationExists } from '../schema/lookups';
import { isSharded, isSwapped, lockableTables } from '../schema/partitions';
import { lockForReading } from '../session/lockRetries';
import { examineShards } from '../sharding/shards';
import { formatThings } from '../text';
import { examineLayout } from './layout';

/** Something that must hold from a phase on. */
interface Check {
  name: string;
  /** The phase after which it holds. */
  from: PhaseNumber | 0;
  /** What is wrong, a sentence for each; nothing if it holds. */
  examine(context: StepContext): Promise<string[]>;
}

// What must hold, and from which phase on.
const CHECKS: Check[] = [
  {
    name: 'every row has a tenant',
    from: 2,
    examine: context => problemsOf(() => checkCounts(context)),
  },
  {
    name: 'row-level security is on, forced, and has no way round',
    from: 4,
    examine: verifyIsolation,
  },
  {
    name: 'the application sees the rows of the tenant that is set, and none without',
    from: 4,
    // Specification, Tenant context for data access, 5.
    examine: context => problemsOf(() => verification.up(context)),
  },
  {
    name: 'both sides of the swap hold the same rows, while there are two',
    from: 4,
    examine: verifyCopies,
  },
  {
    name: 'tables, keys and indexes are those of the specification',
    from: 5,
    examine: examineLayout,
  },
  {
    name: 'entity_terms holds the terms of the live entities, and no others',
    from: 5,
    examine: verifySearchTerms,
  },
  {
    name: 'the default tenant holds what the stock catalog holds, where that is adopted',
    from: 0,
    examine: verifyAdoption,
  },
];

/** The outcome of one check. */
export interface VerifiedCheck {
  name: string;
  /** What is wrong, a sentence for each. */
  problems: string[];
}

export interface VerificationReport {
  /** The last phase that is complete. */
  phase: number;
  checks: VerifiedCheck[];
}

/**
 * Checks everything that must hold after the phases that are complete, on the data
 * itself. It changes nothing and can run while the application writes.
 */
export async function verify(
  migration: TenancyMigration,
): Promise<VerificationReport> {
  const completed = await migration.completedPhase();
  // Phase 5 creates the tables where there was no catalog.
  const phase = completed < 5 && (await migration.creates()) ? 0 : completed;
  const checks: VerifiedCheck[] = [];
  for (const { name, from, examine } of CHECKS) {
    if (from <= phase) {
      migration.context.reporter.info(`Check that ${name}`);
      checks.push({ name, problems: await examine(migration.context) });
    }
  }
  return { phase, checks };
}

/** What the database itself does to keep tenants apart (design: the database). */
async function verifyIsolation({
  executor,
  settings,
}: StepContext): Promise<string[]> {
  const options = { read: executor.read, schema: settings.schema };
  const { missing, findings, deviations } = await examineIsolation({
    ...options,
    user: APP_ROLE,
    isPartitioned: await isSwapped(executor),
  });
  const ofShards = (await isSharded(executor))
    ? await examineShards(options)
    : [];
  return [...missing, ...findings, ...deviations, ...ofShards].map(
    describeFinding,
  );
}

/**
 * Both sides hold the same, but for changes that wait in the log. Before the swap
 * it is the copy that is compared with the tables in use, after it the tables of
 * before, to which a rollback would go.
 */
async function verifyCopies({ executor }: StepContext): Promise<string[]> {
  const completed = await readCompletedSteps(executor);
  if (
    !completed.includes(firstCatchUp.name) ||
    !(await relationExists(executor, CHANGE_LOG))
  ) {
    return [];
  }
  const reason = (await isSwapped(executor)) && (await lostWayBack(executor));
  if (reason) {
    return [reason];
  }
  const described = await describeCopies(executor);
  const tables = described.flatMap(({ source, target }) => [
    `only ${source}`,
    `only ${target}`,
  ]);
  return compareAtOnce(executor, tables, read =>
    findCopyProblems(read, described),
  );
}

/**
 * What a comparison of rows finds in one snapshot. The locks come before it, since it would not
 * show rows that a command writes to other tables meanwhile, or after a TRUNCATE.
 */
async function compareAtOnce(
  { session }: Executor,
  tables: string[],
  compare: (read: Executor['read']) => Promise<string[]>,
): Promise<string[]> {
  return session.transaction(`${SNAPSHOT} read only`, async () => {
    await session.query(lockForReading(tables));
    return compare(readerOf(session).read);
  });
}

const EXAMPLES = 3;

/** What entities are searched by is what they say. */
export async function verifySearchTerms({
  executor,
}: StepContext): Promise<string[]> {
  let count = 0;
  const repairs: string[] = [];
  for await (const { tenant, entity } of findDifferences(executor.session)) {
    count += 1;
    if (repairs.length < EXAMPLES) {
      repairs.push(`select ${REPAIR}('${tenant}', '${entity}');`);
    }
  }
  if (count === 0) {
    return [];
  }
  return [
    `The terms of ${formatThings(count, 'entity')} in entity_terms are ` +
      'not those of the entities. Let the owner of the tables run for each, ' +
      `with the tenant and the entity: ${repairs.join(' ')}`,
  ];
}

/** Each tenant with an adopted engine has what that has. */
async function verifyAdoption(context: StepContext): Promise<string[]> {
  const problems: string[] = [];
  for (const engine of await describeEngines(context)) {
    problems.push(...(await verifyEngine(context, engine)));
  }
  return problems;
}

async function verifyEngine(
  context: StepContext,
  engine: Engine,
): Promise<string[]> {
  const { executor, reporter } = context;
  const status = await readAdoptionStatus(context, engine.tenantId);
  if (!status.engineTables) {
    return [
      `The tables of the engine of ${describeTenant(
        engine,
      )} are gone from the ` +
        `schema "${engine.schema}" (${adoptCommand(engine, 'unadopt')}).`,
    ];
  }
  const hidden = await describeHiddenRows(context, engine);
  if (hidden) {
    return [hidden];
  }
  const faults = renderFaults(status);
  if (faults.length > 0) {
    reporter.warn(faults.join('\n'));
  }
  return [
    ...status.tablesWithoutTriggers.map(
      table =>
        `Changes of ${table} are not carried: its triggers are gone or disabled ` +
        `(${adoptCommand(engine)}).`,
    ),
    ...(await compareAtOnce(
      executor,
      [
        ...(await lockableTables(executor)),
        ...ENGINE_TABLES.map(table => engineTable(engine, table)),
      ],
      read => compareAdoption(read, engine),
    )),
  ];
}

/** The message of a check that throws a MigrationError; other errors are thrown on. */
async function problemsOf(check: () => Promise<void>): Promise<string[]> {
  try {
    await check();
    return [];
  } catch (error) {
    if (error instanceof MigrationError) {
      return [error.message];
    }
    throw error;
  }
}
