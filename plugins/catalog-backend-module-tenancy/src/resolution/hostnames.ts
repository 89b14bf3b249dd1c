import type { Config } from '@backstage/config';
import { InputError } from '@backstage/errors';
import type { Request } from 'express';
import { isIPv4, isIPv6 } from 'node:net';

/** The parts of a request that name its host. */
export type HostedRequest = Pick<
  Request,
  'app' | 'originalUrl' | 'rawHeaders' | 'socket'
>;

// A DNS name or an IPv6 address, with or without a port. RFC 9112, section 3.2 allows more
// characters, which DNS names do not have.
const HOST = /^(\[[^[\]]+\]|[a-z0-9._-]*)(?::\d*)?$/i;

// RFC 9112, section 3.2.2. Node.js and Express accept any scheme.
const ABSOLUTE_FORM = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)/i;

// Node.js' default of `backend.server.maxHeadersCount`.
const DEFAULT_MAX_HEADERS = 1000;

/**
 * The host of a request: in lower case, without port and trailing dot. Empty if the request
 * names none, as HTTP/1.0 allows. `X-Forwarded-Host` overrides `Host` if it comes from a proxy
 * that Express trusts (`backend.trustProxy`).
 *
 * Requests with several hosts are refused: Node.js and Express use the first, and a proxy or
 * cache in front may use another. So are requests of which Node.js may have dropped headers.
 *
 * @throws `InputError` for a request with several hosts or an invalid one
 */
export function requestHost(req: HostedRequest): string {
  assertComplete(req);
  const hosts = headerValues(req, 'host');
  if (hosts.length > 1) {
    throw new InputError(
      `The request has ${hosts.length} headers Host, expected one`,
    );
  }
  const host = parseHost(hosts[0] ?? '', 'the header Host');
  const target = req.originalUrl.match(ABSOLUTE_FORM)?.[1];
  if (target !== undefined && parseHost(target, 'the URL') !== host) {
    throw new InputError(
      `The host ${quoted(target)} in the URL is not that of the header Host, ` +
        `expected ${quoted(hosts[0] ?? '')}`,
    );
  }
  return forwardedHost(req) || host;
}

/**
 * Older versions of Node.js silently drop the last headers of a request with too many, possibly
 * those that a proxy added.
 */
function assertComplete({ rawHeaders, socket }: HostedRequest): void {
  const { server } = socket as { server?: { maxHeadersCount?: number | null } };
  const most = server?.maxHeadersCount ?? DEFAULT_MAX_HEADERS;
  // At exactly the maximum, headers may have been dropped. Zero means no limit.
  if (most > 0 && rawHeaders.length / 2 >= most) {
    throw new InputError(
      `The request has too many headers, expected fewer than ${most}`,
    );
  }
}

/**
 * All values of a repeated header; `req.headers` has only the first `Host`.
 */
export function headerValues(
  req: Pick<Request, 'rawHeaders'>,
  name: string,
): string[] {
  return req.rawHeaders.filter(
    (_, i, all) => i % 2 === 1 && all[i - 1].toLowerCase() === name,
  );
}

/** Empty if there is none, or the sender is not trusted. */
function forwardedHost(req: HostedRequest): string {
  // As Express does for `req.hostname`.
  const isTrusted = req.app.get('trust proxy fn') as (
    address: string | undefined,
    hop: number,
  ) => boolean;
  if (!isTrusted(req.socket.remoteAddress, 0)) {
    return '';
  }
  const values = headerValues(req, 'x-forwarded-host').flatMap(value =>
    value.split(','),
  );
  const hosts = new Set(
    values.map(value => parseHost(value.trim(), 'the header X-Forwarded-Host')),
  );
  if (hosts.size > 1) {
    // If proxies append to the header, the client controls the first value.
    throw new InputError(
      `The header X-Forwarded-Host has several hosts, ${quoted(
        values.join(','),
      )}, expected one: have the outermost proxy set it, and the others leave it`,
    );
  }
  const [host = ''] = hosts;
  return host;
}

function parseHost(value: string, where: string): string {
  const host = value.match(HOST)?.[1].toLowerCase();
  if (host === undefined || (host.startsWith('[') && !isIPv6Literal(host))) {
    throw new InputError(
      `Invalid host ${quoted(value)} in ${where}, expected a host name or an ` +
        'address, with a port or without',
    );
  }
  return host.replace(/\.$/, '');
}

function isIPv6Literal(host: string): boolean {
  // RFC 6874: the percent sign before a zone id is escaped.
  return isIPv6(host.slice(1, -1).replace('%25', '%'));
}

/** Quotes and shortens a caller's text, so that it cannot forge lines of a log. */
export function quoted(value: string): string {
  return JSON.stringify(value.slice(0, 80));
}

const HOSTNAME = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/;

// Browsers recognize an address by the last label: `127.1` is an address, and `acme.1` is
// neither an address nor a name.
const ENDS_IN_NUMBER = /(?:^|\.)(?:\d+|0x[0-9a-f]*)$/;

/** How a host relates to tenants. */
export type HostVerdict =
  /** The host of the tenant with this slug, if there is one. */
  | { kind: 'tenant'; slug: string }
  /** The host names no tenant; the next source decides. */
  | { kind: 'shared' }
  /** The host does not belong to this portal, or is invalid. */
  | { kind: 'foreign' };

const SHARED: HostVerdict = { kind: 'shared' };
const FOREIGN: HostVerdict = { kind: 'foreign' };

/** Reads the slug of a tenant from the host of a request. */
export class HostnameTenants {
  readonly #shared: ReadonlySet<string>;
  readonly #baseDomains: ReadonlySet<string>;

  /**
   * @param options - `baseUrls`: URLs of the backend in addition to `app.baseUrl` and
   * `backend.baseUrl`
   * @throws `InputError` for an invalid URL
   */
  static create(options: {
    config: Config;
    baseDomains: readonly string[];
    baseUrls?: readonly string[];
  }): HostnameTenants {
    const { config, baseDomains, baseUrls = [] } = options;
    const configured = ['app.baseUrl', 'backend.baseUrl'].flatMap(key => {
      const url = config.getOptionalString(key);
      return url === undefined ? [] : [hostOf(url, `at '${key}'`)];
    });
    const others = baseUrls.map(url => hostOf(url, 'of the discovery service'));
    return new HostnameTenants(
      [...configured, ...others, ...baseDomains],
      baseDomains,
    );
  }

  private constructor(
    shared: readonly string[],
    baseDomains: readonly string[],
  ) {
    this.#shared = new Set(shared);
    this.#baseDomains = new Set(baseDomains);
  }

  /**
   * The slug is the first label of the host (specification, "Tenant resolution").
   *
   * @param host - as {@link requestHost} returns it
   */
  read(host: string): HostVerdict {
    const dot = host.indexOf('.');
    if (dot === -1 || this.#shared.has(host) || isAddress(host)) {
      return SHARED;
    }
    const label = host.slice(0, dot);
    const domain = host.slice(dot + 1);
    if (this.#baseDomains.size > 0 && !this.#baseDomains.has(domain)) {
      return FOREIGN;
    }
    if (label === '' || label === 'www') {
      return SHARED;
    }
    return HOSTNAME.test(domain) && !ENDS_IN_NUMBER.test(domain)
      ? { kind: 'tenant', slug: label }
      : FOREIGN;
  }

  /**
   * The slug in the host of the page that sent a request to another host, by the headers
   * `Origin` or `Referer`.
   *
   * Undefined without base domains, because pages of any other site would name tenants.
   */
  readOrigin(url: string | undefined): string | undefined {
    if (url === undefined || this.#baseDomains.size === 0) {
      return undefined;
    }
    const verdict = URL.canParse(url)
      ? this.read(normalize(new URL(url).hostname))
      : FOREIGN;
    return verdict.kind === 'tenant' ? verdict.slug : undefined;
  }
}

function hostOf(url: string, where: string): string {
  try {
    return normalize(new URL(url).hostname);
  } catch {
    throw new InputError(
      `Invalid configuration value '${url}' ${where}, expected a URL`,
    );
  }
}

/** Lower-cases, and removes the trailing dot. */
function normalize(hostname: string): string {
  return hostname.toLowerCase().replace(/\.$/, '');
}

function isAddress(host: string): boolean {
  if (host.startsWith('[')) {
    return true;
  }
  const url = `http://${host}`;
  return (
    ENDS_IN_NUMBER.test(host) &&
    URL.canParse(url) &&
    isIPv4(new URL(url).hostname)
  );
}
