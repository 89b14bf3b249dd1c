import type { Connection } from './Connection';
import { connectionFromConfig } from './fromConfig';
import { connectionFromUrl } from './fromUrl';

/** Preferred to the option: others on the machine can read an argument. */
export const URL_VARIABLE = 'MIGRATION_DATABASE_URL';

/**
 * The connection that the operator has chosen: by URL, or else by the
 * configuration of Backstage.
 */
export async function resolveConnection(
  options: { url?: string; config?: string[] },
  env: NodeJS.ProcessEnv = process.env,
): Promise<Connection> {
  if (options.url !== undefined) {
    return connectionFromUrl(options.url, '--url');
  }
  const url = env[URL_VARIABLE];
  // Files that are named are meant, whatever the environment holds.
  if (url && !options.config) {
    return connectionFromUrl(url, `The environment variable ${URL_VARIABLE}`);
  }
  return connectionFromConfig(options.config ?? []);
}
