import type { StepContext } from '../engine/Step';
import { CancelledError, ConnectionLostError } from '../errors';
import { CHECKS } from './checks';
import { readFacts } from './facts';
import { failure, ok, warning } from './PreflightCheck';
import type {
  Finding,
  Outcome,
  PreflightCheck,
  PreflightContext,
  PreflightOptions,
} from './PreflightCheck';

/**
 * Runs all checks. They only read, and a failure does not stop them, so an operator learns
 * of all failures at once.
 */
export async function runPreflight(
  context: StepContext,
  options: PreflightOptions,
): Promise<Finding[]> {
  const facts = await readFacts(context);
  const report: Finding[] = [];
  for (const check of CHECKS) {
    const each = { ...context, options, facts };
    const outcomes = leftOut(check, each) ?? (await attempt(check, each));
    report.push(
      ...outcomes.map(outcome => ({ check: check.name, ...outcome })),
    );
  }
  return report;
}

/** What is said of a check that does not run. */
function leftOut(
  { scope }: PreflightCheck,
  { facts }: PreflightContext,
): Outcome[] | undefined {
  if (scope === 'server') {
    return undefined;
  }
  if (facts.swapped) {
    return [
      ok('Not looked at: phase 5 has put the partitioned tables in place.'),
    ];
  }
  // The check `tables` reports what they are.
  if (facts.tables.every(({ kind }) => kind !== 'r')) {
    return [];
  }
  if (facts.tables.some(({ kind }) => kind !== 'r')) {
    return [warning('Not looked at: not all of the three are tables.')];
  }
  const unreadable = facts.tables.filter(({ readable }) => !readable);
  if (scope === 'tables' || unreadable.length === 0) {
    return undefined;
  }
  return [
    warning(
      `Not looked at: the login may not read all rows of ${unreadable
        .map(({ name }) => name)
        .join(', ')}.`,
      { advice: 'Run the preflight as the owner of the tables.' },
    ),
  ];
}

/** Runs a check; its error becomes a failure. */
async function attempt(
  check: PreflightCheck,
  context: PreflightContext,
): Promise<Outcome[]> {
  const { executor } = context;
  // A dry run reads in one transaction: without a savepoint, an error would fail all later
  // checks.
  const inTransaction = (statement: string) =>
    executor.dryRun ? executor.read(`${statement} preflight_check`) : undefined;
  await inTransaction('savepoint');
  try {
    const outcomes = await check.run(context);
    await inTransaction('release savepoint');
    return outcomes;
  } catch (error) {
    if (
      error instanceof ConnectionLostError ||
      error instanceof CancelledError
    ) {
      throw error;
    }
    await inTransaction('rollback to savepoint');
    const reason = error instanceof Error ? error.message : String(error);
    return [
      failure(`This could not be looked at: ${reason}`, {
        advice:
          'Run the preflight as the owner of the tables, or as a superuser.',
      }),
    ];
  }
}
