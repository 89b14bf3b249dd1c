import { setTimeout as pause } from 'node:timers/promises';
import { type Database, withClient } from '../migration/database';

const SAMPLE_MS = 5;

/** How many statements were found waiting for a lock, of those that were looked at. */
interface LockWaits {
  waiting: number;
  running: number;
}

/** Looks again and again at what the other connections of a database wait for. */
export async function sampleLockWaits<T>(
  database: Database,
  action: () => Promise<T>,
): Promise<LockWaits & { result: T }> {
  return withClient(database, async client => {
    const waits = { waiting: 0, running: 0 };
    let going = true;
    const sampling = (async () => {
      while (going) {
        const { rows } = await client.query(
          `select count(*) filter (where wait_event_type = 'Lock')::int as waiting,
                  count(*)::int as running
             from pg_stat_activity
            where datname = current_database() and state = 'active'
              and pid <> pg_backend_pid()`,
        );
        waits.waiting += rows[0].waiting;
        waits.running += rows[0].running;
        await pause(SAMPLE_MS);
      }
    })();
    try {
      const result = await action();
      return { ...waits, result };
    } finally {
      going = false;
      await sampling;
    }
  });
}
