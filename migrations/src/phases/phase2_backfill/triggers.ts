import { DatabaseError } from 'pg';
import type { StepContext } from '../../engine/Step';
import type { MigrationSession } from '../../session/MigrationSession';
import type { TenantTable } from '../../schema/tables';

const INSUFFICIENT_PRIVILEGE = '42501';

const REPLICA = 'set local session_replication_role = replica';

/**
 * The statements that keep the triggers of a table from firing until the end of
 * the transaction; none, and a warning, where the login has not the right.
 *
 * To a trigger that keeps a history or sets `updated_at`, the backfill would look
 * as if every row had been changed. Foreign keys lose nothing: none is about
 * tenant_id yet.
 */
export async function silenceTriggers(
  { reporter }: StepContext,
  session: MigrationSession,
  table: TenantTable,
): Promise<string[]> {
  const silenced = await mayBeReplica(session);
  const firing = await firingTriggers(session, table, silenced);
  if (firing.length > 0) {
    reporter.warn(
      `These triggers of ${table} may fire for the rows that are filled: ` +
        `${firing.join(', ')}. ${
          silenced
            ? 'They are enabled for replicas as well.'
            : 'A superuser can keep them from it, and from PostgreSQL 15 on a login with ' +
              '"grant set on parameter session_replication_role".'
        }`,
    );
  }
  return silenced ? [REPLICA] : [];
}

async function mayBeReplica(session: MigrationSession): Promise<boolean> {
  try {
    // Two statements in one message are one transaction, which ends with it.
    await session.query(`${REPLICA};\nselect`);
    return true;
  } catch (error) {
    if (
      error instanceof DatabaseError &&
      error.code === INSUFFICIENT_PRIVILEGE
    ) {
      return false;
    }
    throw error;
  }
}

async function firingTriggers(
  session: MigrationSession,
  table: TenantTable,
  silenced: boolean,
): Promise<string[]> {
  const rows = await session.query<{ name: string }>(
    `select tgname as name from pg_trigger
      where tgrelid = '${table}'::regclass and not tgisinternal
        and tgtype & 16 <> 0 -- on update
        and tgenabled in (${silenced ? `'A', 'R'` : `'A', 'O'`})
        and (cardinality(tgattr) = 0 or exists (
              select from pg_attribute
               where attrelid = tgrelid and attname = 'tenant_id'
                 and attnum = any (tgattr)))
      order by tgname`,
  );
  return rows.map(({ name }) => name);
}
