import type { StepContext } from '../engine/Step';
import { limitWaits, withLockRetries } from '../session/lockRetries';
import { ENGINE_TABLES, engineTable } from './engine';
import type { Engine } from './engine';

/**
 * Runs a statement that locks rows of the engine, and repeats it until it gets them. It is sent
 * in one message, so that no row stays locked during a round trip.
 *
 * A crash may lose it: the next run finds the difference.
 */
export async function runBriefly<Row>(
  { executor: { session }, settings, reporter }: StepContext,
  engine: Engine,
  { title, statement }: { title: string; statement: string },
): Promise<Row[]> {
  return withLockRetries(
    {
      title,
      session,
      reporter,
      tables: ENGINE_TABLES.map(table => engineTable(engine, table)),
      mode: 'rows',
      maxPauseMs: settings.maxPauseMs,
    },
    async timeoutMs => {
      try {
        return await session.query<Row>(
          [
            'set local synchronous_commit = off',
            limitWaits(timeoutMs),
            statement,
          ].join(';\n'),
        );
      } catch (error) {
        await session.rollback();
        throw error;
      }
    },
  );
}
