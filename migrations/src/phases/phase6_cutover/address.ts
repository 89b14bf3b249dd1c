import { isIP } from 'node:net';
import { RefusedError } from '../../errors';
import type { MigrationSettings } from '../../engine/Step';

/** The address of the application, and the token for it. */
export interface Address {
  /** As `--base-url` has been parsed: without a slash at its end, and without a password. */
  baseUrl: string;
  token?: string;
}

/**
 * The address from the operator's settings.
 *
 * @throws {@link RefusedError} without a base URL, and for a malformed token, which the
 * message does not show
 */
export function addressOf({
  cutover,
}: Pick<MigrationSettings, 'cutover'>): Address {
  if (!cutover?.baseUrl) {
    throw new RefusedError(
      'The smoke tests need the address of the application. Set ' +
        'MULTI_TENANCY_ENABLED=true, restart the application, and give ' +
        '--base-url <url>, such as --base-url https://portal.example.com.',
    );
  }
  return { baseUrl: cutover.baseUrl, token: parseToken(cutover.token) };
}

/** `fetch` would show a token with characters that a header cannot have in its error. */
function parseToken(value: string | undefined): string | undefined {
  const token = value?.trim();
  if (token && !/^[\x21-\x7e]+$/.test(token)) {
    throw new RefusedError(
      'MIGRATION_TOKEN holds characters that no bearer token has. Expected the token ' +
        'alone, without the word "Bearer" and without line breaks.',
    );
  }
  return token || undefined;
}

/**
 * The label of the hostname, the first source of tenant resolution. The application ignores
 * the label of its own hosts, which only its configuration names.
 */
export function hostnameLabel(baseUrl: string): string | undefined {
  const { hostname } = new URL(baseUrl);
  const [label, ...rest] = hostname.split('.');
  const address = isIP(hostname) !== 0 || hostname.startsWith('[');
  return address || rest.length === 0 || label === '' || label === 'www'
    ? undefined
    : label;
}

/** The tenant that a token names, the second source, before the header. */
export function tokenTenant(token: string | undefined): string | undefined {
  const payload = token?.split('.')[1];
  if (!payload) {
    return undefined;
  }
  try {
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString());
    return typeof claims?.tenantSlug === 'string'
      ? claims.tenantSlug
      : undefined;
  } catch {
    return undefined;
  }
}
