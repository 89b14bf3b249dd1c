import type { StepContext } from '../engine/Step';
import type { MigrationSession } from '../session/MigrationSession';
import { MIGRATION_LOG } from './changeLog';

// One snapshot for the log and the rows (see createReplay).
export const SNAPSHOT = 'begin isolation level repeatable read';

// A log this short is replayed in a few milliseconds, and gets no shorter.
const SHORT_LOG = 50;
const ROUNDS = 30;

/** The statements of a dry run that replay the change log. */
export const CATCH_UP_SCRIPT = catchUpScript();

/** The same for any log. */
export function catchUpScript(log = MIGRATION_LOG): string[] {
  return [SNAPSHOT, `select ${log.replay}()`, 'commit'];
}

/** Replays the change log once, and returns how many entries it had. */
export async function replayOnce(
  session: MigrationSession,
  log = MIGRATION_LOG,
): Promise<number> {
  return session.transaction(SNAPSHOT, async () => {
    const [{ entries }] = await session.query<{ entries: number }>(
      `select ${log.replay}()::int as entries`,
    );
    return entries;
  });
}

/**
 * Replays the change log until it is short. Each round is as long as what was
 * written during the one before, so that the rounds get shorter as long as
 * replaying is faster than writing.
 */
export async function catchUp(
  { reporter }: StepContext,
  session: MigrationSession,
  log = MIGRATION_LOG,
): Promise<void> {
  const [{ waiting }] = await session.query<{ waiting: number }>(
    `select count(*)::int as waiting from ${log.table}`,
  );
  // Most of the time there is nothing to show.
  const progress =
    waiting > 0 ? reporter.progress('Replay changes', waiting) : undefined;
  for (let round = 0; round < ROUNDS; round += 1) {
    const entries = await replayOnce(session, log);
    progress?.advance(entries);
    if (entries <= SHORT_LOG) {
      break;
    }
    // What is left of them would be read again by every replay. Not truncated: for that
    // VACUUM waits seconds for a moment in which nobody writes to the log.
    await session.query(`vacuum (truncate false) ${log.table}`);
  }
  progress?.finish();
}
