import { isIP } from 'node:net';
import { RefusedError } from '../../errors';
import type { MigrationSettings } from '../../engine/Step';

/** How the application is reached. */
export interface Address {
  /** Without a slash at its end. */
  baseUrl: string;
  token?: string;
}

/**
 * The address that the operator gave.
 *
 * @throws {@link RefusedError} which says what to give; it never shows a password
 * or the token
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
  return {
    baseUrl: parseBaseUrl(cutover.baseUrl),
    token: parseToken(cutover.token),
  };
}

function parseBaseUrl(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url?.username || url?.password) {
    throw new RefusedError(
      'The base URL holds a user name or a password. Expected an address such as ' +
        'https://portal.example.com; what gives access belongs into MIGRATION_TOKEN.',
    );
  }
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash) {
    throw new RefusedError(
      `"${value}" is no base URL. Expected an address such as ` +
        'https://portal.example.com, without a query.',
    );
  }
  return url.href.replace(/\/+$/, '');
}

/** What does not fit into a header would be shown by the error of `fetch`. */
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
 * The label that tenant resolution may find in the hostname, its first source: the
 * application leaves out hosts that it knows as its own, which nobody outside of it
 * can tell.
 */
export function hostnameLabel(baseUrl: string): string | undefined {
  const { hostname } = new URL(baseUrl);
  const [label, ...rest] = hostname.split('.');
  const address = isIP(hostname) !== 0 || hostname.startsWith('[');
  return address || rest.length === 0 || label === '' || label === 'www'
    ? undefined
    : label;
}

/** The tenant that a token names, which also comes before the header. */
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
