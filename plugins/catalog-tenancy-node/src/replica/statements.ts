import type { BuildStatement } from '../pool';

/** Which database of which server, and on which branch of its history. */
export interface Identity {
  /** Of the cluster: the same on a server and on its physical replicas. */
  systemId: string;
  database: string;
  /** Begins anew with each promotion. */
  timeline: number;
}

/** A server as it was at some moment. */
export interface ServerFacts extends Identity {
  /** How far its write-ahead log has come: written, or replayed on a replica. */
  lsn: bigint;
}

/** What a replica tells of itself. */
export interface ReplicaFacts extends ServerFacts {
  inRecovery: boolean;
  /** Each statement sees what was replayed when it began. */
  readCommitted: boolean;
}

/** What the statements below return. PostgreSQL's 64 bits are no numbers here. */
export interface PrimaryRow {
  systemId: string;
  database: string;
  /** The name of a file of the log, which begins with the timeline. */
  segment: string;
  segmentBytes: string;
  pageBytes: string;
  lsn: string;
}

export interface ReplicaRow extends Omit<ReplicaFacts, 'lsn'> {
  lsn: string;
}

// What a replica last wrote down of the branch it follows: at a restart point, or with
// a page of a table.
const REPLAYED_TIMELINE = `greatest(
  (select timeline_id from pg_control_checkpoint()),
  (select min_recovery_end_timeline from pg_control_recovery()))`;

// Of the header of a page of the log, and of the first page of a segment.
const HEADER_BYTES = 24n;
const LONG_HEADER_BYTES = 40n;

/**
 * Where the log of a primary ends: whatever is committed is before that, flushed or
 * not. It fails on a server that is none.
 */
export const selectPrimary: BuildStatement = knex =>
  knex.raw(
    `select current_database()::text as database,
            (select system_identifier::text from pg_control_system()) as "systemId",
            pg_walfile_name(log.lsn) as segment,
            pg_size_bytes(current_setting('wal_segment_size'))::text as "segmentBytes",
            current_setting('wal_block_size') as "pageBytes",
            log.lsn::text as lsn
       from pg_current_wal_insert_lsn() log (lsn)`,
  );

export const selectReplica: BuildStatement = knex =>
  knex.raw(
    `select current_database()::text as database,
            (select system_identifier::text from pg_control_system()) as "systemId",
            ${REPLAYED_TIMELINE} as timeline,
            pg_is_in_recovery() as "inRecovery",
            current_setting('transaction_isolation') = 'read committed' as "readCommitted",
            coalesce(pg_last_wal_replay_lsn(), '0/0')::text as lsn`,
  );

/** What {@link fence} fails with: a division by zero. */
export const FENCE_SQL_STATE = '22012';

/**
 * Fails, by a division by zero, on every server but a replica of this primary that
 * has replayed its log this far. In front of a read, in its transaction: so it is
 * the very server that answers which says so, whichever one a name leads to by then.
 */
export function fence({
  lsn,
  systemId,
  database,
  timeline,
}: ServerFacts): BuildStatement {
  return knex =>
    knex.raw(
      `select 1 / coalesce(
         pg_is_in_recovery() and pg_last_wal_replay_lsn() >= ?::pg_lsn
         and current_database() = ?
         and (select system_identifier from pg_control_system()) = ?::bigint
         and ${REPLAYED_TIMELINE} = ?::int
         and current_setting('transaction_isolation') = 'read committed',
         false)::int`,
      [formatLsn(lsn), database, systemId, timeline],
    );
}

export function toPrimaryFacts(row: PrimaryRow): ServerFacts {
  const { systemId, database, segment } = row;
  const timeline = Number.parseInt(segment.slice(0, 8), 16);
  return { systemId, database, timeline, lsn: endOfLog(row) };
}

/**
 * The end of the last record. A primary whose last record ends with a page names the
 * place behind the header of the next one, which a replica reaches with the next
 * record only: on a primary that rests, after a change of the segment, never.
 */
function endOfLog(row: PrimaryRow): bigint {
  const lsn = parseLsn(row.lsn);
  const inPage = lsn % BigInt(row.pageBytes);
  const isFirst = (lsn - inPage) % BigInt(row.segmentBytes) === 0n;
  return inPage === (isFirst ? LONG_HEADER_BYTES : HEADER_BYTES)
    ? lsn - inPage
    : lsn;
}

export function toReplicaFacts({ lsn, ...row }: ReplicaRow): ReplicaFacts {
  return { ...row, lsn: parseLsn(lsn) };
}

/** Two numbers of 32 bits in hexadecimal, such as `16/B374D848`. */
function parseLsn(text: string): bigint {
  const [high, low] = text.split('/').map(part => BigInt(`0x${part}`));
  return high * 2n ** 32n + low;
}

function formatLsn(lsn: bigint): string {
  return `${(lsn / 2n ** 32n).toString(16)}/${(lsn % 2n ** 32n).toString(16)}`;
}
