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
  context: StepContext,
  engine: Engine,
  { title, statement }: { title: string; statement: string },
): Promise<Row[]> {
  const tables = ENGINE_TABLES.map(table => engineTable(engine, table));
  return withLockRetries(context, { title, tables, mode: 'rows' }, timeoutMs =>
    context.executor.session.queryAtOnce<Row>([
      'set local synchronous_commit = off',
      limitWaits(timeoutMs),
      statement,
    ]),
  );
}
