import type { Executor } from '../../engine/Executor';
import type { StepContext } from '../../engine/Step';
import { RefusedError } from '../../errors';

/** What is wrong with the encoding of the database, if anything. */
export async function findWrongEncoding(
  executor: Pick<Executor, 'read'>,
): Promise<{ problem: string; advice: string } | undefined> {
  const [{ encoding }] = await executor.read<{ encoding: string }>(
    `select current_setting('server_encoding') as encoding`,
  );
  return encoding === 'SQL_ASCII'
    ? {
        problem:
          'The encoding of the database is SQL_ASCII, in which PostgreSQL does not know letters.',
        advice:
          'Dump it, and restore it into a database with the encoding UTF8.',
      }
    : undefined;
}

/** @throws {@link RefusedError} where no search term could be written in phase 5 */
export async function refuseEncoding({ executor }: StepContext): Promise<void> {
  const wrong = await findWrongEncoding(executor);
  if (wrong) {
    throw new RefusedError(`${wrong.problem} ${wrong.advice}`);
  }
}
