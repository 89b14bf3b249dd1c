import { escapeIdentifier } from './TablesSession';
import type { TablesSession } from './TablesSession';

const CONCURRENTLY =
  /^\s*(create\s+(?:unique\s+)?index|drop\s+index)\s+concurrently\s+(?:if\s+(?:not\s+)?exists\s+)?("(?:[^"]|"")+"|[a-z_][\w$]*)/i;

/**
 * What becomes of CREATE and DROP INDEX CONCURRENTLY in upstream's migrations.
 *
 * In tables that no other session knows, they run without CONCURRENTLY, which would wait
 * for every open snapshot of the database. Elsewhere they run as they are, but again after
 * an interruption: an index that was left invalid is built anew, and one that is there
 * already, or gone already, is left alone.
 */
export class ConcurrentIndexes {
  /** Whether a part of the migration may have run before, outside of a transaction. */
  isRepeated = false;

  constructor(
    private readonly session: TablesSession,
    private readonly isPrivate: boolean,
  ) {}

  /** For {@link TablesSession.knex}. */
  hook(sql: string): Promise<string | undefined> | undefined {
    const found = CONCURRENTLY.exec(sql);
    if (!found) {
      return undefined;
    }
    if (this.isPrivate) {
      return Promise.resolve(sql.replace(/\sconcurrently\b/i, ''));
    }
    const [, command, name] = found;
    return this.run(sql, /^create/i.test(command), nameOf(name));
  }

  private async run(
    sql: string,
    isCreation: boolean,
    name: string,
  ): Promise<undefined> {
    const { session } = this;
    await session.withoutLockTimeout(async () => {
      const state = await this.stateOf(name);
      if (isCreation && state === 'invalid') {
        // Killed while it was built. SHARE UPDATE EXCLUSIVE on the table: no read or write
        // waits for it.
        await session.query(
          `drop index concurrently if exists ${escapeIdentifier(name)}`,
        );
      }
      const isDone = isCreation ? state === 'valid' : state === undefined;
      if (!(isDone && this.isRepeated)) {
        await session.query(sql);
      }
    });
    return undefined;
  }

  private async stateOf(
    name: string,
  ): Promise<'valid' | 'invalid' | undefined> {
    const [index] = await this.session.query<{ valid: boolean }>(
      `select i.indisvalid and i.indisready as valid
         from pg_catalog.pg_index i
         join pg_catalog.pg_class c on c.oid = i.indexrelid
         join pg_catalog.pg_namespace n on n.oid = c.relnamespace
        where n.nspname = current_schema() and c.relname = $1`,
      [name],
    );
    return index && (index.valid ? 'valid' : 'invalid');
  }
}

function nameOf(identifier: string): string {
  return identifier.startsWith('"')
    ? identifier.slice(1, -1).replaceAll('""', '"')
    : identifier.toLowerCase();
}
