import { FetchUrlReader } from '@backstage/backend-defaults/urlReader';
import type { Config } from '@backstage/config';
import { InputError } from '@backstage/errors';
import { ScmIntegrations } from '@backstage/integration';
import type { JsonObject, JsonValue } from '@backstage/types';
import { nameAt, valuesIn } from './objects';
import type { ResolvedConfig } from './references';
import { pathOf } from './operatorConfig';

/** Properties whose value is a host or a URL, whatever module they belong to. */
const HOST_KEY =
  /host|url|uri|endpoint|server|address|domain|authority|origin|proxy|issuer|target/i;
const HOST_SYNTAX = /^(\[[0-9a-f:.]+\]|[^\s/\\?#@:[\]]+)(:\d+)?$/i;
const URL_SYNTAX = /^[a-z][a-z0-9+.-]*:\/\/[^\s\\]+$/i;
/** Texts that some URL parser may read as a URL with a host. */
const LIKE_URL = /:\/\/|^(https?|wss?|ftp|ldaps?):|^[\\/]{2}/i;
const ADDRESS =
  /^(\d{1,3}(\.\d{1,3}){3}|\[[0-9a-f:.]+\]|[0-9a-f]*:[0-9a-f:]*:[0-9a-f:.]*)(:\d+)?$/i;
/** A dotted name that ends as host names do, or one with a port; a path may follow. */
const LIKE_HOST =
  /^(([a-z0-9-]+\.)+([a-z]{2,})\.?|[a-z0-9.-]+:\d{1,5}|localhost)([:/?#].*)?$/i;
const FILE_EXTENSION = /^(ya?ml|json|md|txt|xml|toml|csv|ts|js|html?)$/i;

/** The longest text that the expressions with backtracking are run on. */
const MAX_ADDRESS = 100;
const MAX_URL = 2048;

/** The property under which the name of a property is checked like a value. */
const NAME = '';

interface OperatorIntegration {
  type: string;
  host?: string;
  /** Its properties that are hosts or URLs, as Backstage completes them. */
  urls: ReadonlyMap<string, string>;
}

/** The default host of an integration, where Backstage has one. */
const DEFAULT_HOSTS: { [type: string]: string } = {
  azure: 'dev.azure.com',
  github: 'github.com',
};

/**
 * The hosts that the operator lets this backend talk to: those of `integrations`, with
 * the public ones that Backstage has anyway, and those of `backend.reading.allow`.
 *
 * A tenant's own configuration may name no other, or it would send requests into the
 * operator's network. Which property names a host differs from module to module, so all
 * strings are looked at.
 */
export class AllowedHosts {
  readonly #readable: (url: URL) => boolean;
  readonly #integrations: readonly OperatorIntegration[];
  readonly #hosts: ReadonlySet<string>;

  private constructor(
    readable: (url: URL) => boolean,
    integrations: readonly OperatorIntegration[],
  ) {
    this.#readable = readable;
    this.#integrations = integrations;
    this.#hosts = new Set(
      integrations.flatMap(({ urls }) => [...urls.values()].map(hostOf)),
    );
  }

  static fromConfig(config: Config): AllowedHosts {
    const [{ predicate }] = FetchUrlReader.factory({
      config,
    } as Parameters<typeof FetchUrlReader.factory>[0]);
    const integrations = ScmIntegrations.fromConfig(config)
      .list()
      .map(integration => {
        const urls = urlsOf((integration as { config?: object }).config ?? {});
        return { type: integration.type, host: urls.get('host'), urls };
      });
    return new AllowedHosts(predicate, integrations);
  }

  /** Whether the operator has listed the host of a URL to which something connects. */
  isListed(url: URL): boolean {
    return this.#allows(url, 'url');
  }

  /** @throws InputError that names the property, and the host if it is no secret */
  check(config: ResolvedConfig): void {
    // `rules` have patterns of locations, which are never connected to.
    const { rules: _, ...catalog } = (config.data.catalog ?? {}) as JsonObject;
    const integrations = (config.data.integrations ?? {}) as JsonObject;
    for (const [name, part] of Object.entries({
      catalog,
      integrations,
      plugins: config.data.plugins,
    })) {
      this.#checkValues(part, name, config);
    }
    this.#checkIntegrations(integrations);
  }

  #checkValues(
    part: JsonValue | undefined,
    name: string,
    config: ResolvedConfig,
  ): void {
    for (const [path, value] of valuesIn(part, [name])) {
      const step = path.at(-1);
      if (typeof step === 'string') {
        // A name of a property may be a host too, as in `{ "<host>": { … } }`.
        this.#checkValue(step, path, NAME, 'literal');
      }
      if (typeof value === 'string' || typeof value === 'number') {
        const origin = config.originAt(pathOf(path));
        this.#checkValue(String(value), path, nameAt(path), origin);
      }
    }
  }

  #checkValue(
    value: string,
    path: PropertyKey[],
    key: string,
    origin: ReturnType<ResolvedConfig['originAt']>,
  ): void {
    const isText = key !== NAME && origin !== 'reference';
    const named = hostNamedBy(value, key, isText);
    if (named === undefined) {
      return;
    }
    const at = pathOf(path);
    if (value.length > MAX_URL) {
      throw new InputError(
        `${at}: expected a host or a URL of at most ${MAX_URL} characters`,
      );
    }
    if (origin === 'mixed') {
      // An error could not name it without the secret, and a request would send the secret to
      // the host.
      throw new InputError(
        `${at}: expected a host or a URL without a reference in it`,
      );
    }
    if (named === 'file') {
      throw new InputError(`${at}: expected no file of the server`);
    }
    const url =
      named === 'url'
        ? parseUrl(value)
        : HOST_SYNTAX.exec(value) && parseUrl(`https://${value}`);
    if (!url) {
      throw new InputError(
        `${at}: expected a host, or a URL as https://<host>/<path>, without ` +
          'a user and a password',
      );
    }
    if (!this.#allows(url, named)) {
      const shown = origin === 'literal' ? ` '${url.host.slice(0, 255)}'` : '';
      throw new InputError(
        `${at}: the host${shown} is not allowed; expected one that the operator lists in ` +
          'integrations or backend.reading.allow',
      );
    }
  }

  #allows(url: URL, named: 'url' | 'host'): boolean {
    if (this.#hosts.has(url.host)) {
      return true;
    }
    return (
      this.#readable(url) ||
      // A host that is allowed with its port may be named without a scheme.
      (named === 'host' && this.#readable(new URL(`http://${url.host}`)))
    );
  }

  /** For a host of the operator, the URLs beside it are those of the operator. */
  #checkIntegrations(integrations: JsonObject): void {
    for (const [type, entries] of Object.entries(integrations)) {
      const list = Array.isArray(entries) ? entries : [];
      list.forEach((entry, i) => {
        if (entry === null || typeof entry !== 'object') {
          return;
        }
        const { host, ...others } = entry as JsonObject;
        const own = this.#integrations.find(
          candidate =>
            candidate.type === type &&
            candidate.host === hostOf(String(host ?? DEFAULT_HOSTS[type])),
        );
        for (const [key, value] of Object.entries(others)) {
          const expected = own?.urls.get(key);
          if (
            expected !== undefined &&
            (typeof value !== 'string' || trim(value) !== trim(expected))
          ) {
            throw new InputError(
              `${pathOf([
                'integrations',
                type,
                i,
                key,
              ])}: expected the URL that the ` +
                'operator has for this host, or none',
            );
          }
        }
      });
    }
  }
}

/**
 * @param isText - whether the value is written by the tenant, as a value: names of
 *   properties have dots too, and what a secret looks like is the operator's business
 */
function hostNamedBy(
  value: string,
  key: string,
  isText: boolean,
): 'url' | 'host' | 'file' | undefined {
  // Parsers of URLs drop control characters and blanks, so they hide nothing here.
  // eslint-disable-next-line no-control-regex
  const bare = value.replace(/[\u0000-\u0020]/g, '');
  if (/^file:/i.test(bare)) {
    return 'file';
  }
  if (LIKE_URL.test(bare)) {
    return 'url';
  }
  if (bare.length <= MAX_ADDRESS && ADDRESS.test(bare)) {
    return 'host';
  }
  if (HOST_KEY.test(key)) {
    return bare === '' || bare.startsWith('/') ? undefined : 'host';
  }
  const dotted = isText ? LIKE_HOST.exec(bare) : null;
  return dotted && !FILE_EXTENSION.test(dotted[3] ?? '') ? 'host' : undefined;
}

/** @returns undefined for what another parser might read differently */
function parseUrl(value: string): URL | undefined {
  if (!URL_SYNTAX.test(value) || !URL.canParse(value)) {
    return undefined;
  }
  const url = new URL(value);
  const isPlain =
    url.hostname !== '' && url.username === '' && url.password === '';
  return isPlain ? url : undefined;
}

function urlsOf(config: object): Map<string, string> {
  return new Map(
    Object.entries(config).filter(
      (entry): entry is [string, string] =>
        typeof entry[1] === 'string' && HOST_KEY.test(entry[0]),
    ),
  );
}

function hostOf(hostOrUrl: string): string {
  const url = hostOrUrl.includes('://') ? hostOrUrl : `https://${hostOrUrl}`;
  return URL.canParse(url) ? new URL(url).host : hostOrUrl;
}

function trim(url: string): string {
  return url.replace(/\/+$/, '');
}
