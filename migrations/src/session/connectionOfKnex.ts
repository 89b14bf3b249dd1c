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
    return { ...connection, password };
  }
  // A command may outlive a token: each connection gets a new one.
  const fetchPassword = async () => {
    const { password } = await connection();
    const text = String(
      typeof password === 'function' ? await password() : password,
    );
    onPassword(text);
    return text;
  };
  return { ...(await connection()), password: fetchPassword };
}
