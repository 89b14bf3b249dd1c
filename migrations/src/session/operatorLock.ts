import os from 'node:os';
import { OtherOperatorError } from '../errors';
import type { MigrationSession } from './MigrationSession';

/** The beginning of `application_name` in `pg_stat_activity`. */
export const APPLICATION_PREFIX = 'catalog-tenancy';

// The first key of the advisory locks. Not 0, which pg_locks shows for locks with a small
// bigint key.
export const LOCK_CLASS = 7007;

// Less than four seconds in all.
const PAUSES_MS = [200, 300, 450, 675, 1000, 1000];

/** The command that brings the product's own tables up to date, as a backend does at its start. */
export const UPGRADE = 'upgrade';

// An upgrade gives up earlier, if it gets no lock.
const UPGRADE_PATIENCE_MS = 60_000;

/** The `application_name` of a command: its name, the user, the machine. */
export function applicationName(command: string): string {
  return `${APPLICATION_PREFIX} ${command} ${userName()}@${os.hostname()}`;
}

function userName(): string {
  try {
    return os.userInfo().username;
  } catch {
    // A container may run as an id that no user has.
    return `uid-${process.getuid?.()}`;
  }
}

/**
 * The session that holds the operator's lock of a schema.
 *
 * @public
 */
export interface Operator {
  /** The process of the server. */
  pid: number;
  /** The command, the user and the machine, or else the login. */
  name: string;
  /** Undefined for a login that may not see other sessions. */
  since: Date | null;
}

/**
 * Takes the operator's lock of a schema for as long as the session lives.
 *
 * An advisory lock of the session: it locks no row and no table, the application never
 * meets it, and PostgreSQL releases it when the session ends. The command asks for it
 * during four seconds, because the server may take one to notice that an earlier command
 * was killed. It waits a minute for an upgrade, which takes moments.
 *
 * @throws {@link OtherOperatorError} which names the holder
 */
export async function takeOperatorLock(
  session: Pick<MigrationSession, 'query' | 'pause'>,
  schema: string,
): Promise<void> {
  const giveUpAt = performance.now() + UPGRADE_PATIENCE_MS;
  for (let attempt = 0; ; attempt += 1) {
    const [{ taken }] = await session.query<{ taken: boolean }>(
      `select pg_try_advisory_lock(${LOCK_CLASS}, hashtext($1)) as taken`,
      [schema],
    );
    if (taken) {
      return;
    }
    if (attempt >= PAUSES_MS.length) {
      const operator = await findOperator(session, schema);
      const isUpgrade = operator?.name.startsWith(
        `${APPLICATION_PREFIX} ${UPGRADE} `,
      );
      if (!isUpgrade || performance.now() > giveUpAt) {
        throw refusal(operator);
      }
    }
    await session.pause(PAUSES_MS[attempt] ?? PAUSES_MS[PAUSES_MS.length - 1]);
  }
}

/** The operator who works on the schema now, if there is one. */
export async function findOperator(
  session: Pick<MigrationSession, 'query'>,
  schema: string,
): Promise<Operator | undefined> {
  const [operator] = await session.query<Operator>(
    `select a.pid, a.backend_start as since,
            coalesce(nullif(a.application_name, ''), 'the login ' || a.usename) as name
       from pg_locks l
       join pg_stat_activity a using (pid)
      where l.locktype = 'advisory' and l.granted
        and l.database = (select oid from pg_database where datname = current_database())
        and l.classid = ${LOCK_CLASS}
        and l.objid = (hashtext($1)::bigint & 4294967295)::oid
        and l.objsubid = 2`,
    [schema],
  );
  return operator;
}

/** An operator in words: `"… phase2 ann@host" (process 7 of the server, since …)`. */
export function describeOperator({ name, pid, since }: Operator): string {
  const begin = since ? `, since ${since.toISOString()}` : '';
  return `"${name}" (process ${pid} of the server${begin})`;
}

function refusal(operator: Operator | undefined): Error {
  return new OtherOperatorError(
    operator
      ? `Another operator is at work: ${describeOperator(operator)}. ` +
        'Wait for it to end.'
      : 'Another operator was at work until a moment ago. Run the command again.',
  );
}
