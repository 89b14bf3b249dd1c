import type { Knex } from 'knex';
import type { ClientConfig } from 'pg';

/** A configuration that Knex calls for each connection, because its password expires. */
type ConfigProvider = () => Promise<ClientConfig> | ClientConfig;

/**
 * The connection of a Knex instance as one for `pg`.
 *
 * @param onPassword - called with every password, so that the caller can redact it
 * @public
 */
export async function connectionOfKnex(
  knex: Knex,
  onPassword: (password: string) => void = () => undefined,
): Promise<ClientConfig> {
  const { connection } = knex.client.config as {
    connection: ClientConfig | ConfigProvider;
  };
  if (typeof connection !== 'function') {
    // Knex hides the password from enumeration.
    const { password } = connection;
    if (typeof password === 'string') {
      onPassword(password);
    }
    return {
      ...connection,
      password:
        typeof password === 'function'
          ? () => fetchPassword({ password }, onPassword)
          : password,
    };
  }
  // A command may outlive a token: each connection gets a new one.
  return {
    ...(await connection()),
    password: async () => fetchPassword(await connection(), onPassword),
  };
}

async function fetchPassword(
  { password }: Pick<ClientConfig, 'password'>,
  onPassword: (password: string) => void,
): Promise<string> {
  const text = String(
    typeof password === 'function' ? await password() : password,
  );
  onPassword(text);
  return text;
}

/**
 * The connection of a Knex instance, acting as the role that its sessions act as. It connects to
 * ask for that role.
 *
 * @param onPassword - as in {@link connectionOfKnex}
 * @public
 */
export async function actingConnectionOfKnex(
  knex: Knex,
  onPassword?: (password: string) => void,
): Promise<ClientConfig> {
  const connection = await connectionOfKnex(knex, onPassword);
  const { rows } = await knex.raw(
    'select session_user as login, current_user as role',
  );
  const [{ login, role }] = rows as { login: string; role: string }[];
  if (role === login) {
    return connection;
  }
  // Backstage sends SET ROLE; here the server sets the role when the session starts.
  const escaped = role.replace(/[\\\s]/g, character => `\\${character}`);
  return {
    ...connection,
    options: `${connection.options ?? ''} -c role=${escaped}`.trim(),
  };
}
