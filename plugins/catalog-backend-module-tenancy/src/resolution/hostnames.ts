import type { Config } from '@backstage/config';
import { InputError } from '@backstage/errors';
import type { Request } from 'express';
import { isIPv4, isIPv6 } from 'node:net';

/** What of a request says which host it was sent to, and to which tenant. */
export type HostedRequest = Pick<
  Request,
  'app' | 'originalUrl' | 'rawHeaders' | 'socket'
>;

// A name that DNS can have, or an address of IPv6, with a port or without. RFC 9112,
// section 3.2, allows for more characters, of which none is in a name of DNS.
const HOST = /^(\[[^[\]]+\]|[a-z0-9._-]*)(?::\d*)?$/i;

// RFC 9112, section 3.2.2. Node.js and Express take it for any scheme.
const ABSOLUTE_FORM = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)/i;

// What Node.js keeps of a request, unless `backend.server.maxHeadersCount` says otherwise.
const DEFAULT_MAX_HEADERS = 1000;

/**
 * The host that a request was sent to: in lower case, without the port and without
 * the dot at the end that marks a complete name. Empty where the request names none,
 * as HTTP/1.0 allows. `X-Forwarded-Host` takes the place of `Host` where it comes from
 * a proxy that Express trusts (`backend.trustProxy`).
 *
 * Node.js and Express take the first of several hosts, and a proxy or a cache in front
 * of them may take another: such a request has no host. Neither has one of whose headers
 * Node.js may have dropped some.
 *
 * @throws `InputError` for a request that names several hosts, or what can be no host
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
 * Node.js drops the last headers of a request that has too many, and says nothing, where
 * it is not recent enough to refuse it. They may be those that a proxy has added.
 */
function assertComplete({ rawHeaders, socket }: HostedRequest): void {
  const { server } = socket as { server?: { maxHeadersCount?: number | null } };
  const most = server?.maxHeadersCount ?? DEFAULT_MAX_HEADERS;
  // With exactly as many, it can't be seen whether there were more. Zero is no limit.
  if (most > 0 && rawHeaders.length / 2 >= most) {
    throw new InputError(
      `The request has too many headers, expected fewer than ${most}`,
    );
  }
}

/**
 * The values of a header, one for each line that has it, where `req.headers` has the
 * first of `Host` alone.
 */
export function headerValues(
  req: Pick<Request, 'rawHeaders'>,
  name: string,
): string[] {
  return req.rawHeaders.filter(
    (_, i, all) => i % 2 === 1 && all[i - 1].toLowerCase() === name,
  );
}

/** Empty where there is none, or none that counts. */
function forwardedHost(req: HostedRequest): string {
  // As Express decides on it for `req.hostname`.
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
    // A proxy that adds to the header leaves the first value to the client.
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
  // RFC 6874: the percent sign before a zone is escaped.
  return isIPv6(host.slice(1, -1).replace('%25', '%'));
}

/** What comes from a caller, for a log or an answer: it can't break out of its line. */
export function quoted(value: string): string {
  return JSON.stringify(value.slice(0, 80));
}

const HOSTNAME = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/;

// Browsers take a host for an address by its last label: `127.1` is one too, and
// `acme.1` neither address nor name.
const ENDS_IN_NUMBER = /(?:^|\.)(?:\d+|0x[0-9a-f]*)$/;

/** What a host says about the tenant of a request. */
export type HostVerdict =
  /** It is that of a tenant, if there is a tenant with this slug. */
  | { kind: 'tenant'; slug: string }
  /** It names no tenant, and the next source decides. */
  | { kind: 'shared' }
  /** It is none of this portal's, or none at all. */
  | { kind: 'foreign' };

const SHARED: HostVerdict = { kind: 'shared' };
const FOREIGN: HostVerdict = { kind: 'foreign' };

/** Reads the slug of a tenant off the host of a request. */
export class HostnameTenants {
  readonly #shared: ReadonlySet<string>;
  readonly #baseDomains: ReadonlySet<string>;

  /**
   * @param options - `baseUrls` are those at which others find the backend, in
   * addition to `app.baseUrl` and `backend.baseUrl`
   * @throws `InputError` for one of them that is no URL
   */
  static create(options: {
    config: Config;
    baseDomains: readonly string[];
    baseUrls?: readonly string[];
  }): HostnameTenants {
    const { config, baseUrls = [] } = options;
    const baseDomains = options.baseDomains.map(normalize);
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
   * The slug of the tenant at whose hostname the page is that sends a request. Browsers
   * send its URL, or the origin of that, along with whatever goes to another host.
   *
   * Without base domains nothing: any page of any other site would be a tenant's.
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

/** In lower case, and without the dot at the end that marks a complete name. */
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
