import { DatabaseError } from 'pg';
import { VerificationError } from '../errors';
import type { StepContext } from '../engine/Step';
import { withLockRetries } from '../session/lockRetries';
import { isSharded } from './partitions';
import { TENANT_SETTING } from './policies';
import { grantAppToLogin, readRoleAccess } from './roleAccess';
import { APP_ROLE } from '../roles';
import { escapeLiteral } from '../sql';

const BEGIN = 'begin isolation level repeatable read';

/** Statements to try in a transaction that is rolled back. */
interface Trial {
  /** For the log. */
  title: string;
  /** Statements, the last of which act as the application. */
  statements: string[];
  /** The beginning of the error message, before that of PostgreSQL. */
  failure: string;
}

/**
 * Tries something out and rolls it back. It reads in one snapshot, while applications write.
 *
 * @throws {@link VerificationError} if it fails, unless for want of a lock
 */
export async function tryOut(
  context: StepContext,
  trial: Trial,
): Promise<void> {
  await context.executor.work({
    title: `${trial.title}. ACCESS SHARE, which conflicts with no read or write.`,
    script: [BEGIN, ...trial.statements, 'rollback'],
    run: () => runTrial(context, trial),
  });
}

async function runTrial(
  context: StepContext,
  { title, statements, failure }: Trial,
): Promise<void> {
  const { executor } = context;
  const { session } = executor;
  // With SET LOCAL, Citus sends the whole message to the nodes: so a message for each statement.
  const sharded = await isSharded(executor);
  try {
    await withLockRetries(context, { title }, async timeoutMs => {
      const text = [
        BEGIN,
        `set local lock_timeout = ${timeoutMs}`,
        ...statements,
      ];
      try {
        for (const message of sharded ? text : [text.join(';\n')]) {
          await session.query(message);
        }
      } finally {
        await session.rollback();
      }
    });
  } catch (error) {
    throw error instanceof DatabaseError
      ? new VerificationError(`${failure}: ${describe(error)}`)
      : error;
  }
}

/**
 * The statements after which a transaction acts as the application, under
 * row-level security like any of its sessions.
 */
export async function actAsAppStatements(
  context: StepContext,
): Promise<string[]> {
  const access = await readRoleAccess(context);
  const member = access.superuser || access.app.settable;
  return [
    'set local row_security = on',
    // Rolled back with the transaction.
    ...(member ? [] : ['set local role none', grantAppToLogin(access)]),
    `set local role ${APP_ROLE}`,
    // For the tenant that is set next: elsewhere than on Citus it means nothing.
    `set local citus.propagate_set_commands = 'local'`,
  ];
}

/** The statement that sets the tenant for the rest of a transaction. */
export function setTenantStatement(tenantId: string): string {
  return `set local ${TENANT_SETTING} = ${escapeLiteral(tenantId)}`;
}

function describe({ message, where, hint }: DatabaseError): string {
  return [message, hint, where && `(${where.split('\n')[0]})`]
    .filter(Boolean)
    .join(' ');
}
