import { type Client, DatabaseError } from 'pg';

/** Another session has changed the row of pg_authid since the statement began. */
const CONCURRENTLY_CHANGED = 'XX000';
/** duplicate_object, and unique_violation where another session creates it at the same time. */
const PRESENT = ['42710', '23505'];
const ATTEMPTS = 20;

/**
 * Runs a statement about roles, again where another test file is at the same ones: they
 * belong to the server. What it creates may be there already.
 *
 * @public
 */
export async function changeRole(
  client: Client,
  statement: string,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await client.query(statement);
      return;
    } catch (error) {
      const code = error instanceof DatabaseError ? error.code ?? '' : '';
      if (PRESENT.includes(code)) {
        return;
      }
      if (code !== CONCURRENTLY_CHANGED || attempt === ATTEMPTS) {
        throw error;
      }
    }
  }
}
