import { readAdoptionStatus } from '../adopt/status';
import { describeFinding } from '../checks/Finding';
import { examineMaintenance } from '../checks/maintenance';
import { examineRules } from '../checks/Rule';
import type { Finding, Rule } from '../checks/Rule';
import { ROW_RULES } from '../checks/rows';
import { SERVER_RULES } from '../checks/server';
import { columns, SHAPE_RULES, storage } from '../checks/shape';
import { Journal, readCompletedSteps } from '../engine/journal';
import { takenNames } from '../engine/ownership';
import { recordedBy } from '../engine/ProductMigration';
import type { StepContext } from '../engine/Step';
import { CancelledError, ConnectionLostError, namesTaken } from '../errors';
import { phases } from '../phases';
import { findRoleObstacle } from '../schema/roleAccess';
import { missingTables, readTableFacts } from '../schema/tableFacts';
import type { TableFacts } from '../schema/tableFacts';
import { TENANT_TABLES } from '../schema/tables';
import { escapeIdentifier } from '../sql';
import { describeCatalog } from '../status/next';
import { formatBytes, script } from '../text';

/** What several checks look at. */
interface Facts {
  schemaExists: boolean;
  /** Those of the three tables that exist. */
  tables: TableFacts[];
  /** Whether a step of the migration is done. */
  begun: boolean;
  /** Whether the partitioned tables are in place. */
  swapped: boolean;
  /** Whether the operator has confirmed that a backup was completed. */
  backupCompleted: boolean;
}

/** What is found; nothing is well, as far as it tells. */
type Outcome = Omit<Finding, 'check'>;

interface Check {
  name: string;
  find(context: StepContext, facts: Facts): Promise<Outcome[]>;
}

const ok = (message: string): Outcome[] => [{ level: 'ok', message }];

const failure = (message: string, advice?: string, sql?: string): Outcome[] => [
  { level: 'failure', message, advice, sql },
];

function ofRule(rule: Rule): Check {
  return {
    name: rule.name,
    find: (context, { begun }) => examineRules(context, [rule], begun),
  };
}

async function findMaintenance({
  executor,
  settings,
}: StepContext): Promise<Outcome[]> {
  const found = await examineMaintenance(executor.read, settings.schema);
  return found.map(each => ({
    level: 'warning',
    message: describeFinding(each),
  }));
}

/** The login may set up the two roles, which are those of this product. */
async function findRoles(
  context: StepContext,
  { schemaExists }: Facts,
): Promise<Outcome[]> {
  const found = await findRoleObstacle(context, schemaExists);
  return found
    ? failure(found.message, found.advice, script(found.statements))
    : [];
}

/** A backup, for what no undo can repair. */
async function findBackup(
  { executor, settings }: StepContext,
  { tables, backupCompleted }: Facts,
): Promise<Outcome[]> {
  if (backupCompleted) {
    return ok('A completed backup is confirmed.');
  }
  const schema = escapeIdentifier(settings.schema);
  for (const { name, readable } of tables) {
    // The login may not look: assume that there are rows.
    if (
      !readable ||
      (await executor.read(`select from ${schema}.${name} limit 1`)).length > 0
    ) {
      return failure(
        'A completed backup is not confirmed.',
        'Back up the database, see that it can be restored, and give --backup-completed.',
      );
    }
  }
  return ok('The tables have no rows yet.');
}

/** The names of all that the migration creates are free, or its own. */
async function findNames(context: StepContext): Promise<Outcome[]> {
  const journal = await Journal.read(context.executor, recordedBy(phases));
  const taken = await takenNames(context, journal);
  return taken.length === 0 ? [] : failure(namesTaken(taken).message);
}

/** All three tables exist, or none, and they are ordinary tables. */
async function findTables(
  context: StepContext,
  { tables, swapped, begun }: Facts,
): Promise<Outcome[]> {
  const { schema } = context.settings;
  if (swapped) {
    return ok('The partitioned tables of phase 5 are in place.');
  }
  const missing = missingTables(tables);
  if (missing.length === 0) {
    return examineRules(context, [storage], begun);
  }
  if (missing.length < TENANT_TABLES.length) {
    return failure(
      `The schema ${schema} has no ${missing.join(' and no ')}.`,
      `Expected all of ${TENANT_TABLES.join(
        ', ',
      )}, or none: give the --schema that has them, or another one.`,
    );
  }
  const adoption = await readAdoptionStatus(context);
  const beside = adoption.engineTables
    ? `they are created beside ${describeCatalog(adoption)}`
    : 'a fresh database, or give the --schema that has them';
  return ok(`The schema ${schema} has none of the three tables: ${beside}.`);
}

/** What the phases write until the cleanup, by the size of what they copy. */
const NEEDED_PER_COPIED = 2.5;

async function estimateDisk(
  { executor }: StepContext,
  { tables }: Facts,
): Promise<Outcome[]> {
  const [{ bytes }] = await executor.read<{ bytes: number }>(
    `select sum(pg_total_relation_size(oid))::float8 as bytes
       from pg_class where oid = any ($1)`,
    [tables.map(({ oid }) => oid)],
  );
  const needed = formatBytes(bytes * NEEDED_PER_COPIED);
  return ok(`The migration needs about ${needed} of free disk on the server.`);
}

/** What rows must satisfy. */
async function findRows(
  context: StepContext,
  { tables, begun }: Facts,
): Promise<Outcome[]> {
  const unreadable = tables.filter(({ readable }) => !readable);
  if (unreadable.length > 0) {
    return [
      {
        level: 'warning',
        message: `Not looked at: the login may not read all rows of ${unreadable
          .map(({ name }) => name)
          .join(', ')}.`,
        advice: 'Run the preflight as the owner of the tables.',
      },
    ];
  }
  // A query of the rows would fail: the checks of tables and columns say why.
  return tables.length < TENANT_TABLES.length ||
    (await examineRules(context, [columns], begun)).length > 0
    ? []
    : examineRules(context, ROW_RULES, begun);
}

/** Those of the server, the database and the login, in the order of the report. */
const SERVER_CHECKS: readonly Check[] = [
  ...SERVER_RULES.map(ofRule),
  { name: 'maintenance', find: findMaintenance },
  { name: 'roles', find: findRoles },
  { name: 'backup', find: findBackup },
  { name: 'names', find: findNames },
  { name: 'tables', find: findTables },
];

/** Those of the tables, until phase 5 has swapped them. */
const TABLE_CHECKS: readonly Check[] = [
  { name: 'free disk', find: estimateDisk },
  ...SHAPE_RULES.filter(rule => rule !== storage).map(ofRule),
  { name: 'rows', find: findRows },
];

/**
 * Runs all checks. They only read, and a failure does not stop them, so an operator learns
 * of all failures at once.
 */
export async function runPreflight(
  context: StepContext,
  { backupCompleted }: { backupCompleted: boolean },
): Promise<Finding[]> {
  const facts = { ...(await readFacts(context)), backupCompleted };
  const { tables } = facts;
  const areOrdinary =
    tables.length > 0 && tables.every(({ kind }) => kind === 'r');
  const report: Finding[] = [];
  // The check `tables` says what the tables are, where they can't be looked at.
  for (const check of areOrdinary
    ? [...SERVER_CHECKS, ...TABLE_CHECKS]
    : SERVER_CHECKS) {
    const outcomes = await attempt(check, context, facts);
    report.push(
      ...outcomes.map(outcome => ({ ...outcome, check: check.name })),
    );
  }
  return report;
}

/** Runs a check; its error becomes a failure. */
async function attempt(
  check: Check,
  context: StepContext,
  facts: Facts,
): Promise<Outcome[]> {
  try {
    const outcomes = await check.find(context, facts);
    return outcomes.length > 0 ? outcomes : ok('');
  } catch (error) {
    if (
      error instanceof ConnectionLostError ||
      error instanceof CancelledError
    ) {
      throw error;
    }
    const reason = error instanceof Error ? error.message : String(error);
    return failure(
      `This could not be looked at: ${reason}`,
      'Run the preflight as the owner of the tables, or as a superuser.',
    );
  }
}

async function readFacts(context: StepContext) {
  const { executor, settings } = context;
  const tables = await readTableFacts(context);
  const [{ schemaExists, journal }] = await executor.read<{
    schemaExists: boolean;
    /** Whether the login may read it; `null` if there is none. */
    journal: boolean | null;
  }>(
    `select exists (select from pg_namespace where nspname = $1) as "schemaExists",
            (select has_schema_privilege(n.oid, 'usage') and has_table_privilege(c.oid, 'select')
               from pg_class c join pg_namespace n on n.oid = c.relnamespace
              where n.nspname = $1 and c.relname = 'tenancy_migrations') as journal`,
    [settings.schema],
  );
  // The rights of the login are reported, where it may not read the journal.
  const begun =
    journal === false ||
    (journal === true && (await readCompletedSteps(executor)).length > 0);
  const swapped = begun && tables.some(({ kind }) => kind === 'p');
  return { schemaExists, begun, swapped, tables };
}
