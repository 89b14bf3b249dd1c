import { escapeLiteral } from '../sql';

/**
 * The settings on which statements depend in every session, over those of the server, the
 * database and the login: what a statement means, and how PostgreSQL spells values and
 * definitions.
 */
const MEANING: Readonly<Record<string, string>> = {
  // Above it a change that has waited for another one fails with 40001.
  default_transaction_isolation: 'read committed',
  default_transaction_deferrable: 'off',
  standard_conforming_strings: 'on',
  transform_null_equals: 'off',
  array_nulls: 'on',
  // It leaves out results at random.
  gin_fuzzy_search_limit: '0',
  // An error would end the session.
  exit_on_error: 'off',
  quote_all_identifiers: 'off',
  bytea_output: 'hex',
  datestyle: 'ISO, MDY',
  intervalstyle: 'postgres',
  extra_float_digits: '1',
};

// The server ends a session 90 seconds after the host of its client has vanished: by the system's
// defaults its locks would stay for hours.
const KEEPALIVES: Readonly<Record<string, string>> = {
  tcp_keepalives_idle: '30',
  tcp_keepalives_interval: '10',
  tcp_keepalives_count: '6',
};

// Set if they exist and differ. PostgreSQL has createrole_self_grant since 16 and
// restrict_nonsystem_relation_kind since its minors of August 2024, and only a superuser may
// set session_replication_role, even to its current value.
const CONDITIONAL: Readonly<Record<string, string>> = {
  session_replication_role: 'origin',
  createrole_self_grant: '',
  restrict_nonsystem_relation_kind: '',
};

/**
 * The statements that give a session the settings on which ours depend, in one message.
 *
 * @param own - the settings of this kind of session, over the common ones
 * @param conditional - those that not every version has
 * @public
 */
export function sessionSettings(
  own: Readonly<Record<string, string>> = {},
  conditional: Readonly<Record<string, string>> = {},
): string {
  const wanted = Object.entries({ ...CONDITIONAL, ...conditional }).map(
    pair => `(${pair.map(escapeLiteral).join(', ')})`,
  );
  return [
    // First: after SET ROLE a superuser may no longer.
    `select pg_catalog.set_config(s.name, wanted.value, false)
  from (values ${wanted.join(', ')}) as wanted (name, value)
  join pg_catalog.pg_settings s on s.name = wanted.name and s.setting <> wanted.value`,
    ...Object.entries({ ...MEANING, ...KEEPALIVES, ...own }).map(
      ([name, value]) => `set ${name} = ${escapeLiteral(value)}`,
    ),
  ].join(';\n');
}
