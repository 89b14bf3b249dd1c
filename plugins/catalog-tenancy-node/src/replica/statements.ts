import type { BuildStatement } from '../pool/TenancyPool';

/** A position in the write-ahead log of one server and timeline. */
export interface LogPosition {
  /** The system identifier, equal on a server and its physical replicas. */
  systemId: string;
  database: string;
  /** Increases with each promotion. */
  timeline: number;
  /** A `pg_lsn` as text; compared by PostgreSQL only. */
  lsn: string;
}

/** What {@link selectReplica} returns. */
export interface ReplicaRow extends Omit<LogPosition, 'lsn'> {
  inRecovery: boolean;
  /** Whether each statement sees what was replayed when it began. */
  readCommitted: boolean;
  /** How many of the given positions are replayed. */
  replayed: number;
}

// The timeline that a replica last recorded, at a restart point or with a flushed page.
const REPLAYED_TIMELINE = `greatest(
  (select timeline_id from pg_control_checkpoint()),
  (select min_recovery_end_timeline from pg_control_recovery()))`;

/**
 * The end of the last record. `pg_current_wal_insert_lsn()` is the position of the next record.
 * If the last record ends with its page, that is behind the next page's header (24 bytes, or 40
 * in the first page of a segment), which a replica reaches only with the next record: on an
 * idle primary, never.
 *
 * @param lsn - an SQL expression for that position
 */
export const endOfLastRecord = (lsn: string) => `${lsn} - case
    when (${lsn} - '0/0') % pg_size_bytes(current_setting('wal_segment_size')) = 40
    then 40
    when (${lsn} - '0/0') % pg_size_bytes(current_setting('wal_segment_size')) <> 24
     and (${lsn} - '0/0') % current_setting('wal_block_size')::int = 24
    then 24 else 0 end`;

/** @param segment - an SQL expression for the name of a WAL file, which begins with the timeline */
export const timelineOf = (segment: string) =>
  `('x' || left(${segment}, 8))::bit(32)::int`;

/**
 * The end of a primary's log as a {@link LogPosition}: all commits are before it, flushed or
 * not. Fails on a server that is not a primary.
 */
export const selectPrimary: BuildStatement = knex =>
  knex.raw(
    `select current_database()::text as database,
            (select system_identifier::text from pg_control_system()) as "systemId",
            ${timelineOf('pg_walfile_name(log.lsn)')} as timeline,
            (${endOfLastRecord('log.lsn')})::text as lsn
       from pg_current_wal_insert_lsn() log (lsn)`,
  );

/** @param positions - ascending positions in the primary's log */
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

/** Why a server cannot serve as a replica of the primary; undefined if it can. */
export function faultOf(
  replica: ReplicaRow,
  primary: LogPosition,
): string | undefined {
  if (!replica.inRecovery) {
    return 'it is not a replica, or was promoted';
  }
  if (replica.systemId !== primary.systemId) {
    return 'it is a replica of another server than the primary';
  }
  if (replica.database !== primary.database) {
    return `its database is '${replica.database}', but the primary's is '${primary.database}'`;
  }
  if (replica.timeline !== primary.timeline) {
    return 'it follows another timeline than the primary, or has not recorded the new one since a failover';
  }
  return replica.readCommitted
    ? undefined
    : `its default_transaction_isolation is not 'read committed'`;
}

/** The error of {@link preconditionOf}: division by zero. */
export const PRECONDITION_SQL_STATE = '22012';

/**
 * Fails with a division by zero unless the server is a replica of this primary that has
 * replayed the log up to this position. It runs before a read in the same transaction, so it
 * checks the very server that answers, even if a host name leads to several.
 */
export function preconditionOf({
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
