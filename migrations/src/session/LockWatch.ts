import type { LockQueue } from '../Reporter';
import type { MigrationSession } from './MigrationSession';

const POLL_MS = 100;
const TELL_EVERY_MS = 1000;

// Sessions that wait for a table which this process waits for, or has locked.
const QUEUE = `
  with ours as (
    select relation, database from pg_locks
     where pid = $1 and locktype = 'relation' and mode = 'AccessExclusiveLock')
  select (select count(distinct l.pid)::int from pg_locks l join ours using (relation, database)
           where not l.granted and l.pid <> $1) as "waiting",
         (select coalesce(max(extract(epoch from clock_timestamp() - l.waitstart) * 1000), 0)::int
            from pg_locks l join ours using (relation, database)
           where not l.granted and l.pid <> $1) as "longestMs",
         pg_blocking_pids($1) as "blockers"`;

/**
 * Reads on a second connection which sessions wait while one asks for locks, so that an
 * operator sees what a pause costs.
 */
export class LockWatch {
  /**
   * @param tell - is called every second, and once more at the end
   */
  static async start(
    session: Pick<MigrationSession, 'openAnother' | 'query'>,
    tell: (queue: LockQueue) => void,
  ): Promise<LockWatch> {
    const [{ pid }] = await session.query<{ pid: number }>(
      'select pg_backend_pid() as pid',
    );
    // Without a free connection the work goes on unwatched.
    const other = await session
      .openAnother('locks: watch')
      .catch(() => undefined);
    return new LockWatch(other, pid, tell);
  }

  private readonly seen: LockQueue = {
    waiting: 0,
    longestMs: 0,
    blockers: [],
  };
  private readonly watching: Promise<void>;
  private isOver = false;

  private constructor(
    private readonly session: MigrationSession | undefined,
    private readonly pid: number,
    private readonly tell: (queue: LockQueue) => void,
  ) {
    this.watching = this.watch();
  }

  async stop(): Promise<void> {
    this.isOver = true;
    await this.watching;
    await this.session?.close();
    this.tell(this.seen);
  }

  private async watch(): Promise<void> {
    let toldAt = performance.now();
    while (this.session && !this.isOver) {
      try {
        await this.look(this.session);
        await this.session.pause(POLL_MS);
      } catch {
        // A watch that has lost its connection reports nothing more.
        return;
      }
      if (!this.isOver && performance.now() - toldAt >= TELL_EVERY_MS) {
        toldAt = performance.now();
        this.tell(this.seen);
      }
    }
  }

  private async look(session: MigrationSession): Promise<void> {
    const [now] = await session.query<LockQueue>(QUEUE, [this.pid]);
    const { seen } = this;
    seen.waiting = Math.max(seen.waiting, now.waiting);
    seen.longestMs = Math.max(seen.longestMs, now.longestMs);
    if (now.blockers.length > 0) {
      seen.blockers = now.blockers;
    }
  }
}
