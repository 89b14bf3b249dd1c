import type { Knex } from 'knex';

/** A query of `pg`, its parameters written `$1`, `$2`, … */
export interface Statement {
  text: string;
  values?: unknown[];
  /**
   * The extended protocol takes one statement at a time: a second one behind a semicolon is an
   * error. Without it, `pg` uses that protocol only for a query with values.
   */
  queryMode?: 'extended';
}

/** Beyond it, the number of parameters does not fit into the protocol. */
const MAX_VALUES = 65_535;

/** What a transaction is for. Everything else would change the session or end it. */
const ALLOWED = [
  'select',
  'insert',
  'update',
  'delete',
  'merge',
  'with',
  'values',
  'table',
  'explain',
  'lock',
];

// White space, comments and parentheses may stand in front.
const FIRST_WORD = /^(?:[\s(]|--[^\n]*\n|\/\*[^]*?\*\/)*([a-z_]*)/i;

/**
 * A statement that Knex has built, as PostgreSQL takes it.
 *
 * Transaction control and settings are refused: they belong to the pool.
 *
 * @throws `Error` for a statement that can't be sent; it does not quote it
 */
export function compileStatement(
  statement: Knex.QueryBuilder | Knex.Raw,
): Statement {
  const { sql, bindings } = toNative(statement);
  const word = FIRST_WORD.exec(sql)?.[1].toLowerCase() ?? '';
  if (!ALLOWED.includes(word)) {
    throw new Error(
      `A statement may not begin with "${word}". Expected one of: ${ALLOWED.join(
        ', ',
      )}. Transactions and settings belong to the pool.`,
    );
  }
  if (sql.includes('\0')) {
    throw new Error('A statement may have no NUL character');
  }
  if (bindings.length > MAX_VALUES) {
    throw new Error(
      `A statement has ${bindings.length} values, where at most ${MAX_VALUES} can be sent`,
    );
  }
  return { text: sql, values: [...bindings], queryMode: 'extended' };
}

function toNative(statement: Knex.QueryBuilder | Knex.Raw): Knex.SqlNative {
  try {
    return statement.toSQL().toNative();
  } catch (error) {
    // Knex quotes the statement, with its values, behind its reason.
    const [reason] = (error instanceof Error ? error.message : '').split(
      ' when compiling ',
    );
    throw new Error(
      `A statement can't be built: ${
        reason.startsWith('Undefined binding')
          ? 'one of its values is undefined'
          : 'Knex refuses it'
      }`,
      { cause: error },
    );
  }
}
