import { setTimeout as pause } from 'node:timers/promises';
import { DatabaseError } from 'pg';
import type { PhaseNumber } from '../engine/Step';
import type { TenancyMigration } from '../engine/TenancyMigration';
import { RefusedError } from '../errors';
import type { MigrationSession } from '../session/MigrationSession';
import { isDistributed } from '../schema/citus';
import { formatBytes } from '../text';
import {
  describeNeeds,
  estimateNeeds,
  readLogLimit,
  readStage,
  SORTING,
} from './needs';
import type { DiskNeed, Reader } from './needs';
import {
  describeRoom,
  findDataDirectory,
  isShort,
  measureRooms,
  reserveOf,
  UnknownServerError,
} from './space';
import type { DiskRoom } from './space';

// The phase that copies the tables. The preflight estimates what the others write, in
// small batches.
const WATCHED_PHASE = 5;

const INTERVAL_MS = 250;

const DISK_FULL = '53100';

interface Gauge {
  /** The free space on each file system that is needed. */
  measure(reader: Reader, needs: DiskNeed[]): Promise<DiskRoom[]>;
  /** Whether it sees temporary files. If not, their space is reserved all the time. */
  seesSorting: boolean;
}

class DiskIsShortError extends Error {
  constructor({ free, where }: DiskRoom) {
    super(`only ${formatBytes(free)} are left (${where})`);
  }
}

/**
 * Measures the free disk of the server before and during phase 5, and stops the phase
 * before PostgreSQL runs out of space.
 */
export class DiskWatch {
  /**
   * @param freeDiskBytes - the free space now, if it cannot be measured from here; the watch
   * subtracts the growth of the database and of the log
   */
  static async open(
    migration: TenancyMigration,
    freeDiskBytes?: number,
  ): Promise<DiskWatch> {
    const { executor } = migration.context;
    if (freeDiskBytes !== undefined) {
      return new DiskWatch(migration, await gaugeOf(executor, freeDiskBytes));
    }
    try {
      const dataDirectory = await findDataDirectory(executor);
      return new DiskWatch(migration, {
        measure: (_, needs) => measureRooms(dataDirectory, needs),
        seesSorting: true,
      });
    } catch (error) {
      if (!(error instanceof UnknownServerError)) {
        throw error;
      }
      return new DiskWatch(migration, error);
    }
  }

  private constructor(
    private readonly migration: TenancyMigration,
    /** The reason, if there is no gauge. */
    private readonly gauge: Gauge | UnknownServerError,
  ) {}

  /**
   * Runs a phase, and watches the disk if that is phase 5, and it is the next one.
   *
   * @throws {@link RefusedError} if there is too little space, or it runs short during the
   * phase: what was committed stays, and a repeated command continues from there
   */
  async during<T>(number: PhaseNumber, run: () => Promise<T>): Promise<T> {
    const { gauge, migration } = this;
    const { executor, reporter } = migration.context;
    if (
      executor.dryRun ||
      number !== WATCHED_PHASE ||
      (await migration.completedPhase()) !== number - 1
    ) {
      return run();
    }
    if (gauge instanceof UnknownServerError) {
      reporter.warn(
        `The free disk is not watched: ${gauge.message}. Phase ${number} needs ` +
          `${describeNeeds(
            await estimateRest(executor),
          )}: give what is free on ` +
          'the server with --free-disk, such as --free-disk 500GB.',
      );
      return run();
    }
    const session = await migration.context.openSession();
    try {
      return await this.watched({ session, gauge, run });
    } finally {
      await session.close();
    }
  }

  private async watched<T>({
    session,
    gauge,
    run,
  }: {
    session: MigrationSession;
    gauge: Gauge;
    run: () => Promise<T>;
  }): Promise<T> {
    const reader: Reader = {
      read: (sql, values) => session.query(sql, values),
    };
    const needs = await estimateRest(reader);
    refuseShort(needs, await gauge.measure(reader, needs));
    const unseen = gauge.seesSorting
      ? 0
      : total(needs.filter(({ what }) => what === SORTING));
    const findShort = async () =>
      (await gauge.measure(reader, needs)).find(
        ({ free, reserve }) => free < reserve + unseen,
      );
    const ended = new AbortController();
    const watching = this.watch(session, ended.signal, findShort);
    try {
      return await run();
    } catch (error) {
      if (
        error instanceof DiskIsShortError ||
        (error instanceof DatabaseError && error.code === DISK_FULL)
      ) {
        ended.abort();
        await watching;
        throw stopped(await this.estimateAgain(session, needs), error);
      }
      throw error;
    } finally {
      ended.abort();
      await watching;
      this.migration.interrupt(undefined);
    }
  }

  /** The remaining needs; the last known ones if a lock or a full disk prevents the query. */
  private async estimateAgain(
    session: MigrationSession,
    needs: DiskNeed[],
  ): Promise<DiskNeed[]> {
    try {
      const { lockTimeoutMs } = this.migration.context.settings;
      await session.query(`set lock_timeout = ${lockTimeoutMs}`);
      return await estimateRest({
        read: (sql, values) => session.query(sql, values),
      });
    } catch {
      return needs;
    }
  }

  private async watch(
    session: MigrationSession,
    ended: AbortSignal,
    findShort: () => Promise<DiskRoom | undefined>,
  ): Promise<void> {
    const { migration } = this;
    try {
      while (!ended.aborted) {
        const short = await findShort();
        if (short) {
          const processes = migration.interrupt(
            new DiskIsShortError(short),
            session,
          );
          // Repeatedly, for statements that begin between two cancels.
          await cancel(session, processes);
        }
        await pause(INTERVAL_MS, undefined, { signal: ended }).catch(
          () => undefined,
        );
      }
    } catch (error) {
      // A lost connection also ends the phase, which reports it.
      if (!ended.aborted) {
        migration.context.reporter.warn(
          `The free disk is not watched any more: ${
            error instanceof Error ? error.message : String(error)
          }`,
        );
      }
    }
  }
}

/**
 * Cancels the statements of this command's sessions. It acts as the login, because
 * portal_admin may not cancel them. The condition on application_name excludes foreign
 * processes, whose numbers a pooler may have named.
 */
async function cancel(
  session: MigrationSession,
  processes: number[],
): Promise<void> {
  await session.transaction('begin', async () => {
    await session.query('set local role none');
    await session.query(
      `select pg_cancel_backend(pid) from pg_stat_activity
        where pid = any ($1) and application_name = current_setting('application_name')`,
      [processes],
    );
  });
}

/**
 * Subtracts the growth of the database and of the log from a given size. It does not see
 * other writes to the disk.
 */
async function gaugeOf(reader: Reader, freeBytes: number): Promise<Gauge> {
  const readSize = async (of: Reader, since?: { at: string }) => {
    const [now] = await of.read<{ size: number; log: number; at: string }>(
      `select pg_database_size(current_database())::float8 as size,
              (pg_current_wal_lsn() - coalesce($1::pg_lsn, pg_current_wal_lsn()))::float8 as log,
              pg_current_wal_lsn()::text as at`,
      [since?.at],
    );
    return now;
  };
  const before = await readSize(reader);
  return {
    async measure(of, needs) {
      const now = await readSize(of, before);
      const log = Math.min(now.log, await readLogLimit(of));
      const needed = total(needs);
      return [
        {
          needed,
          reserve: reserveOf(needed),
          free: Math.max(0, freeBytes - (now.size - before.size) - log),
          where: 'of what was given',
        },
      ];
    },
    seesSorting: false,
  };
}

async function estimateRest(reader: Reader): Promise<DiskNeed[]> {
  const [{ schema }] = await reader.read<{ schema: string }>(
    'select current_schema()::text as schema',
  );
  if (await isDistributed((sql, values) => reader.read(sql, values), schema)) {
    // The phase writes no rows of tables that are on the nodes of Citus.
    return [];
  }
  return estimateNeeds(reader, await readStage(reader, WATCHED_PHASE));
}

function refuseShort(needs: DiskNeed[], rooms: DiskRoom[]): void {
  const short = rooms.find(isShort);
  if (short) {
    throw new RefusedError(
      `Too little room for phase ${WATCHED_PHASE}. It needs ${describeNeeds(
        needs,
      )}${
        rooms.length > 1 ? `, of which ${formatBytes(short.needed)} there` : ''
      }; ${describeRoom(
        short,
      )}. Give the server more disk, or make room on it. ` +
        'Where more is free than that, give it with --free-disk.',
    );
  }
}

function stopped(
  needs: DiskNeed[],
  error: DiskIsShortError | DatabaseError,
): RefusedError {
  return new RefusedError(
    `Phase ${WATCHED_PHASE} was stopped, because the disk of the server is nearly full: ${error.message}. ` +
      `What is left of it needs ${describeNeeds(needs)}. What was committed ` +
      'stays: make room, and run the same command again. It goes on from there.',
  );
}

function total(needs: DiskNeed[]): number {
  return needs.reduce((sum, { bytes }) => sum + bytes, 0);
}
