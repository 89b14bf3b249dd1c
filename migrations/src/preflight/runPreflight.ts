import type { StepContext } from '../engine/Step';
import { CancelledError, ConnectionLostError, RefusedError } from '../errors';
import { SHAPE_RULES, storage } from '../checks/shape';
import { autovacuum } from './checks/autovacuum';
import { backup } from './checks/backup';
import { freeDisk } from './checks/disk';
import { connectionLimits } from './checks/connections';
import { encoding, eventTriggers } from './checks/database';
import { names } from './checks/names';
import { replication, standbys } from './checks/replication';
import { loginRights, members } from './checks/rights';
import { entityRefs, orphans, requiredValues, shape } from './checks/layout';
import {
  connection,
  extensions,
  pgCron,
  serverVersion,
  transactions,
  writable,
} from './checks/server';
import { tables } from './checks/tables';
import { readFacts } from './facts';
import { AGAIN } from '../checks/examineShape';
import { ok, warning } from './PreflightCheck';
import type {
  Finding,
  Outcome,
  PreflightCheck,
  PreflightContext,
  PreflightOptions,
} from './PreflightCheck';

/** The checks, in the order of the report. */
const CHECKS: PreflightCheck[] = [
  serverVersion,
  connection,
  connectionLimits,
  writable,
  encoding,
  eventTriggers,
  extensions,
  pgCron,
  loginRights,
  freeDisk,
  backup,
  transactions,
  autovacuum,
  names,
  tables,
  ...SHAPE_RULES.filter(rule => rule !== storage).map(shape),
  requiredValues,
  entityRefs,
  orphans,
  replication,
  standbys,
  members,
];

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
    const outcomes = await runCheck(check, { ...context, options, facts });
    report.push(...outcomes.map(each => ({ check: check.name, ...each })));
  }
  return report;
}

/**
 * Refuses to go on after a failure.
 *
 * @throws {@link RefusedError} with every failure of the report
 */
export function assertPreflight(report: Finding[]): void {
  const failures = report.filter(({ level }) => level === 'failure');
  if (failures.length === 0) {
    return;
  }
  const things =
    failures.length === 1 ? 'one thing' : `${failures.length} things`;
  throw new RefusedError(
    `The preflight has found ${things} to put right first:\n${failures
      .map(describe)
      .join('\n')}`,
  );
}

function describe({ check, message, advice, sql, again }: Finding): string {
  const indent = (text: string) => text.replace(/^/gm, '    ');
  return [
    `- ${check}: ${message}`,
    ...(advice ? [`  ${advice}`] : []),
    ...(sql ? [indent(sql)] : []),
    ...(again ? [`  ${AGAIN}`, indent(again)] : []),
  ].join('\n');
}

async function runCheck(
  check: PreflightCheck,
  context: PreflightContext,
): Promise<Outcome[]> {
  const { facts } = context;
  if (check.scope !== 'server') {
    if (facts.swapped) {
      return [
        ok(
          'Not looked at: phase 5 has put the partitioned tables in place, ' +
            'and this is about the tables before them.',
        ),
      ];
    }
    // The check `tables` reports what they are.
    if (facts.tables.every(({ kind }) => kind !== 'r')) {
      return [];
    }
    if (facts.tables.some(({ kind }) => kind !== 'r')) {
      return [warning('Not looked at: not all of the three are tables.')];
    }
  }
  const unreadable = facts.tables.filter(({ readable }) => !readable);
  if (check.scope === 'rows' && unreadable.length > 0) {
    return [
      warning(
        `Not looked at: the login ${facts.login} may not read all rows of ` +
          `${unreadable.map(({ name }) => name).join(', ')}.`,
        { advice: 'Run the preflight as the owner of the tables.' },
      ),
    ];
  }
  return attempt(check, context);
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
    return outcomes.length === 0 && check.fine ? [ok(check.fine)] : outcomes;
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
      {
        level: 'failure',
        message: `This could not be looked at: ${reason}`,
        advice:
          'Run the preflight as the owner of the tables, or as a superuser.',
      },
    ];
  }
}
