import { Client } from 'pg';
import type { ClientConfig } from 'pg';
import { UsageError } from '../usageError';
import type { Connection } from './Connection';

/** The connection that a URL describes. `source` is where the URL comes from. */
export function connectionFromUrl(url: string, source: string): Connection {
  const config: ClientConfig = { connectionString: url };
  if (!/^postgres(ql)?:\/\//.test(url)) {
    throw invalid(url, source);
  }
  let client: Client;
  try {
    client = new Client(config);
  } catch {
    // The message of the parser may quote the password.
    throw invalid(url, source);
  }
  const { password } = client;
  return {
    config,
    secrets: new Set(typeof password === 'string' ? [password] : []),
  };
}

function invalid(url: string, source: string): UsageError {
  // A URL that can't be parsed may have its password anywhere before the host, or
  // in what follows the database.
  const shown = url.includes('@')
    ? url
        .replace(/^([a-z0-9+.-]*:\/\/)?[^]*@/i, '$1***@')
        .replace(/\?[^]*$/, '')
    : `${url.slice(0, 12)}…`;
  return new UsageError(
    `${source} is not the URL of a PostgreSQL database: "${shown}". Expected ` +
      'postgresql://<user>:<password>@<host>:5432/<database>, with special characters ' +
      'percent-encoded.',
  );
}
