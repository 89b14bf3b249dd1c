import { readCompletedSteps } from '../engine/journal';
import type { StepContext } from '../engine/Step';
import { CancelledError, ConnectionLostError } from '../errors';
import { readTableFacts } from '../schema/tableFacts';
import { CHECKS } from './checks';
import type {
  Finding,
  Outcome,
  PreflightCheck,
  PreflightContext,
} from './PreflightCheck';

/**
 * Runs all checks. They only read, and a failure does not stop them, so an operator learns
 * of all failures at once.
 */
export async function runPreflight(
  context: StepContext,
  options: Pick<PreflightContext, 'backupCompleted'>,
): Promise<Finding[]> {
  const facts = { ...context, ...options, ...(await readFacts(context)) };
  const report: Finding[] = [];
  for (const check of CHECKS.filter(each => !isLeftOut(each, facts))) {
    const outcomes = await attempt(check, facts);
    report.push(
      ...outcomes.map(outcome => ({ check: check.name, ...outcome })),
    );
  }
  return report;
}

/** Reads what several checks look at. */
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
  return {
    schemaExists,
    begun,
    swapped: begun && tables.some(({ kind }) => kind === 'p'),
    tables,
  };
}

/** Whether a check can't look at the tables: the check `tables` says what they are. */
function isLeftOut(
  { scope }: PreflightCheck,
  { tables }: PreflightContext,
): boolean {
  return (
    scope === 'tables' &&
    (tables.length === 0 || tables.some(({ kind }) => kind !== 'r'))
  );
}

/** Runs a check; its error becomes a failure. */
async function attempt(
  check: PreflightCheck,
  context: PreflightContext,
): Promise<Outcome[]> {
  try {
    const outcomes = await check.run(context);
    return outcomes.length > 0 ? outcomes : [{ level: 'ok', message: '' }];
  } catch (error) {
    if (
      error instanceof ConnectionLostError ||
      error instanceof CancelledError
    ) {
      throw error;
    }
    const reason = error instanceof Error ? error.message : String(error);
    return [
      {
        level: 'failure',
        message: `This could not be looked at: ${reason}`,
        advice:
          'Run the preflight as the owner of the tables, or as a superuser.',
      },
    ];
  }
}
