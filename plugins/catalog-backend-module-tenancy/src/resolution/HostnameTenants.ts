import type { Config } from '@backstage/config';
import { InputError } from '@backstage/errors';

const HOSTNAME = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/;

// Whose last label is a number, that is how browsers tell too: `127.1` is one.
const IPV4 = /(?:^|\.)(?:\d+|0x[0-9a-f]*)$/;

/** Reads the slug of a tenant off the hostname of a request. */
export class HostnameTenants {
  readonly #tenantless: ReadonlySet<string>;
  readonly #baseDomains: ReadonlySet<string>;

  /**
   * @throws `InputError` for an `app.baseUrl` or `backend.baseUrl` that is no URL
   */
  static create(options: {
    config: Config;
    baseDomains: readonly string[];
  }): HostnameTenants {
    const baseDomains = options.baseDomains.map(normalize);
    const ownHosts = ['app.baseUrl', 'backend.baseUrl'].flatMap(key =>
      readHost(options.config, key),
    );
    return new HostnameTenants([...ownHosts, ...baseDomains], baseDomains);
  }

  private constructor(
    tenantless: readonly string[],
    baseDomains: readonly string[],
  ) {
    this.#tenantless = new Set(tenantless);
    this.#baseDomains = new Set(baseDomains);
  }

  /**
   * The slug that a hostname names, if it names one: its first label in lower case.
   *
   * @param hostname - as `req.hostname` has it: without a port, and forwarded only
   * by a proxy that is trusted
   */
  slugOf(hostname: string | undefined): string | undefined {
    const host = normalize(hostname ?? '');
    const dot = host.indexOf('.');
    if (dot === -1 || this.#tenantless.has(host) || isAddress(host)) {
      return undefined;
    }
    const label = host.slice(0, dot);
    const domain = host.slice(dot + 1);
    if (label === '' || label === 'www') {
      return undefined;
    }
    if (this.#baseDomains.size > 0 && !this.#baseDomains.has(domain)) {
      return undefined;
    }
    // What is no hostname comes back whole, and no slug has a dot in it: it is
    // refused then, where nothing would let another source name a tenant.
    return HOSTNAME.test(domain) ? label : host;
  }
}

function readHost(config: Config, key: string): string[] {
  const baseUrl = config.getOptionalString(key);
  if (baseUrl === undefined) {
    return [];
  }
  try {
    return [normalize(new URL(baseUrl).hostname)];
  } catch {
    throw new InputError(
      `Invalid configuration value '${baseUrl}' at '${key}', expected a URL`,
    );
  }
}

/** In lower case, and without the dot at the end that marks a complete name. */
function normalize(hostname: string): string {
  return hostname.toLowerCase().replace(/\.$/, '');
}

function isAddress(host: string): boolean {
  return host.startsWith('[') || IPV4.test(host);
}
