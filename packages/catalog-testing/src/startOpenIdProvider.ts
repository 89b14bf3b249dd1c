import { withDeadline } from '@internal/postgres/testUtils';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

export interface OpenIdProviderOptions {
  clientId: string;
  clientSecret: string;
  redirectUri: string;
  /** A free one without it. */
  port?: number;
  /** The claims of each account, by its name, beside `sub`. */
  accounts: Record<string, Record<string, unknown>>;
}

export interface OpenIdProvider {
  issuer: string;
  stop(): void;
}

/**
 * An OpenID provider with one client, in a process that ends with this one. It asks for
 * an account and any password in a form, and signs in whom the request names in `login_hint`
 * without one.
 */
export async function startOpenIdProvider(
  options: OpenIdProviderOptions,
): Promise<OpenIdProvider> {
  const provider = spawn(
    process.execPath,
    [require.resolve('./openIdProvider.mjs'), JSON.stringify(options)],
    { stdio: ['pipe', 'pipe', 'ignore'] },
  );
  const [issuer] = await withDeadline(
    'the OpenID provider to listen',
    once(createInterface(provider.stdout), 'line'),
  );
  return { issuer: String(issuer), stop: () => void provider.kill() };
}
