import type { BuildStatement } from '../pool/TenancyPool';

/** A place in the write-ahead log of one database, on one branch of its history. */
export interface LogPosition {
  /** Of the cluster: the same on a server and on its physical replicas. */
  systemId: string;
  database: string;
  /** Begins anew with each promotion. */
  timeline: number;
  /** As PostgreSQL writes a `pg_lsn`. PostgreSQL alone compares them. */
  lsn: string;
}

/** What {@link selectReplica} returns. */
export interface ReplicaRow extends Omit<LogPosition, 'lsn'> {
  inRecovery: boolean;
  /** Each statement sees what was replayed when it began. */
  readCommitted: boolean;
  /** How many of the positions, from the first one on, it has replayed. */
  replayed: number;
}

// What a replica last wrote down of the branch it follows: at a restart point, or with
// a page of a table.
const REPLAYED_TIMELINE = `greatest(
  (select timeline_id from pg_control_checkpoint()),
  (select min_recovery_end_timeline from pg_control_recovery()))`;

/**
 * The end of the last record. `pg_current_wal_insert_lsn()` names where the next record
 * goes: where the last one ends with a page, that is behind the header of the next page
 * (24 bytes; 40 in the first page of a segment), which a replica reaches with the next
 * record only: on a primary that rests, after a change of the segment, never.
 *
 * @param lsn - an expression for that place
 */
export const endOfLastRecord = (lsn: string) => `${lsn} - case
    when (${lsn} - '0/0') % pg_size_bytes(current_setting('wal_segment_size')) = 40
    then 40
    when (${lsn} - '0/0') % pg_size_bytes(current_setting('wal_segment_size')) <> 24
     and (${lsn} - '0/0') % current_setting('wal_block_size')::int = 24
    then 24 else 0 end`;

/** @param segment - an expression for the name of a file of the log, which begins with it */
export const timelineOf = (segment: string) =>
  `('x' || left(${segment}, 8))::bit(32)::int`;

/**
 * Where the log of a primary ends, as a {@link LogPosition}: whatever is committed is
 * before that, flushed or not. It fails on a server that is not a primary.
 */
export const selectPrimary: BuildStatement = knex =>
  knex.raw(
    `select current_database()::text as database,
            (select system_identifier::text from pg_control_system()) as "systemId",
            ${timelineOf('pg_walfile_name(log.lsn)')} as timeline,
            (${endOfLastRecord('log.lsn')})::text as lsn
       from pg_current_wal_insert_lsn() log (lsn)`,
  );

/** @param positions - places in the log of the primary, in their order */
export function selectReplica(positions: string[]): BuildStatement {
  return knex =>
    knex.raw(
      `select current_database()::text as database,
              (select system_identifier::text from pg_control_system()) as "systemId",
              ${REPLAYED_TIMELINE} as timeline,
              pg_is_in_recovery() as "inRecovery",
              current_setting('transaction_isolation') = 'read committed' as "readCommitted",
              (select count(*)::int from unnest(?::pg_lsn[]) as sample (lsn)
                where sample.lsn <= pg_last_wal_replay_lsn()) as replayed`,
      [positions],
    );
}

/** Why a server is not a replica of the primary that may be read, if it is not. */
export function faultOf(
  replica: ReplicaRow,
  primary: LogPosition,
): string | undefined {
  if (!replica.inRecovery) {
    return 'it is no replica, or was promoted';
  }
  if (replica.systemId !== primary.systemId) {
    return 'it is a replica of another server than the primary';
  }
  if (replica.database !== primary.database) {
    return `its database is '${replica.database}', and that of the primary '${primary.database}'`;
  }
  if (replica.timeline !== primary.timeline) {
    return 'it follows another branch of history than the primary, or has not said so since a failover';
  }
  return replica.readCommitted
    ? undefined
    : `its transactions are not 'read committed', by default_transaction_isolation`;
}

/** What {@link precondition} fails with: a division by zero. */
export const PRECONDITION_SQL_STATE = '22012';

/**
 * Fails, by a division by zero, on every server but a replica of this primary that has
 * replayed its log this far. It runs in front of a read, in its transaction, so the
 * server that answers is the one that was checked, whichever one a name leads to.
 */
export function precondition({
  lsn,
  systemId,
  database,
  timeline,
}: LogPosition): BuildStatement {
  return knex =>
    knex.raw(
      `select 1 / coalesce(
         pg_is_in_recovery() and pg_last_wal_replay_lsn() >= ?::pg_lsn
         and current_database() = ?
         and (select system_identifier from pg_control_system()) = ?::bigint
         and ${REPLAYED_TIMELINE} = ?::int
         and current_setting('transaction_isolation') = 'read committed',
         false)::int`,
      [lsn, database, systemId, timeline],
    );
}
