import { escapeLiteral } from 'pg';
import type { ClientConfig } from 'pg';
import { withClient } from './withClient';

/**
 * Values that a database may give its sessions and on which none of our statements may
 * depend, but for timeouts: each sets or tolerates these.
 *
 * @public
 */
export const HOSTILE_SETTINGS: Readonly<Record<string, string>> = {
  array_nulls: 'off',
  bytea_output: 'escape',
  check_function_bodies: 'off',
  client_min_messages: 'debug1',
  createrole_self_grant: 'set, inherit',
  datestyle: 'SQL, DMY',
  default_transaction_deferrable: 'on',
  default_transaction_isolation: 'repeatable read',
  escape_string_warning: 'off',
  extra_float_digits: '-15',
  gin_fuzzy_search_limit: '1',
  intervalstyle: 'sql_standard',
  jit: 'on',
  quote_all_identifiers: 'on',
  restrict_nonsystem_relation_kind: 'view',
  row_security: 'off',
  standard_conforming_strings: 'off',
  timezone: 'Asia/Kathmandu',
  transform_null_equals: 'on',
  xmloption: 'document',
};

/**
 * Gives a database settings for all of its new sessions, leaving out those that its server
 * does not have.
 *
 * @public
 */
export async function alterDatabase(
  connection: ClientConfig,
  settings: Readonly<Record<string, string>>,
): Promise<void> {
  await withClient(connection, async client => {
    const { rows } = await client.query<{ names: string[]; database: string }>(
      `select array_agg(lower(name)) as names, quote_ident(current_database()) as database
         from pg_settings`,
    );
    const [{ names, database }] = rows;
    for (const [name, value] of Object.entries(settings)) {
      if (names.includes(name)) {
        await client.query(
          `alter database ${database} set ${name} = ${escapeLiteral(value)}`,
        );
      }
    }
  });
}
