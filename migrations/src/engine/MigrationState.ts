import { relationExists } from '../schema/lookups';
import { escapeLiteral } from '../sql';
import type { Executor } from './Executor';

export const STATE_TABLE = 'tenancy_migration_state';

/**
 * State of steps beyond their completion: the progress of a copy, or what an undo restores.
 *
 * A write is a statement, so that it can be part of the transaction that it describes.
 */
export class MigrationState {
  constructor(private readonly executor: Executor) {}

  async get<T>(key: string): Promise<T | undefined> {
    if (!(await relationExists(this.executor, STATE_TABLE))) {
      return undefined;
    }
    const [row] = await this.executor.read<{ value: T }>(
      `select value from ${STATE_TABLE} where key = $1`,
      [key],
    );
    return row?.value;
  }

  /** The statement that stores a value, which must be JSON. */
  put(key: string, value: unknown): string {
    return (
      `insert into ${STATE_TABLE} (key, value) values (${escapeLiteral(
        key,
      )}, ` +
      `${escapeLiteral(JSON.stringify(value))}) ` +
      `on conflict (key) do update set value = excluded.value`
    );
  }

  /** The statement that deletes a value. */
  forget(key: string): string {
    return `delete from ${STATE_TABLE} where key = ${escapeLiteral(key)}`;
  }
}
