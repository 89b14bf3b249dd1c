import type { Executor } from '../../../engine/Executor';
import { ADMIN_ROLE } from '../../../roles';
import { revokeAllOnFunctionStatement } from '../../../schema/grants';
import { functionsIn, readSqlFile, sqlForSchema } from '../../../sqlFile';
import { termKeySql } from './keys';

const SQL = readSqlFile('terms');

/** The function that derives the terms of an entity. */
export const TERMS = 'entity_terms_of';

/** The function of the triggers on `entities`. */
export const FOLLOW = 'entity_terms_follow';

/** The function that repairs the terms of one entity. */
export const REPAIR = 'entity_terms_repair';

/** The signatures of the functions. */
export const FUNCTIONS = functionsIn(SQL);

/** The collation with which lower() equals JavaScript's toLowerCase. */
const UNICODE_COLLATION = 'und-x-icu';

/**
 * The statements that create the functions, which only triggers and `portal_admin` may call: one
 * for each, as Citus takes them.
 */
export async function functionStatements(
  executor: Pick<Executor, 'read'>,
  schema: string,
): Promise<string[]> {
  const lower = await lowerCaseOf(executor);
  const sql = sqlForSchema(SQL, schema)
    .replace(/:lower\((\w+)\)/g, (_, text) => lower(text))
    .replace(/:term_key\((\w+)\)/g, (_, key) => termKeySql(key));
  return [
    ...sql.split(/(?<=\$body\$);\s+/),
    ...FUNCTIONS.flatMap(closeFunction),
  ];
}

export const dropFunctionStatements = FUNCTIONS.map(
  signature => `drop function if exists ${signature}`,
);

function closeFunction(signature: string): string[] {
  return [
    `alter function ${signature} owner to ${ADMIN_ROLE}`,
    revokeAllOnFunctionStatement(signature),
  ];
}

/**
 * SQL that lower-cases a text. Most texts are ASCII, which their length in bytes shows: for
 * these the collation C takes half the time of ICU. In a single-byte encoding the length
 * shows nothing. A server without ICU uses the database's collation, after that of C: in
 * Turkish an I would become a dotless one.
 */
async function lowerCaseOf(
  executor: Pick<Executor, 'read'>,
): Promise<(text: string) => string> {
  const [{ found, multibyte }] = await executor.read<{
    found: boolean;
    multibyte: boolean;
  }>(
    `select exists (
       select from pg_catalog.pg_collation
        where collname = $1 and collnamespace = 'pg_catalog'::regnamespace
          and collencoding in (-1, pg_char_to_encoding(getdatabaseencoding()))
     ) as found,
     pg_encoding_max_length(pg_char_to_encoding(getdatabaseencoding())) > 1 as multibyte`,
    [UNICODE_COLLATION],
  );
  return text => {
    const unicode = `lower(${text} collate "${UNICODE_COLLATION}")`;
    if (!found) {
      return `lower(lower(${text} collate "C") collate "default")`;
    }
    return multibyte
      ? `case when octet_length(${text}) = char_length(${text})
              then lower(${text} collate "C") else ${unicode} collate "C" end`
      : unicode;
  };
}
