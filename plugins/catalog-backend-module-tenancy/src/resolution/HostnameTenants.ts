import type { Config } from '@backstage/config';
import { InputError } from '@backstage/errors';
import { isIPv4 } from 'node:net';

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
   * @param host - as `requestHost` returns it
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
