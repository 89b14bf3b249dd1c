import type { Entity } from '@backstage/catalog-model';
import { SERVICE_TOKEN, tokenOfGuest } from './backend';
import type { BenchmarkContext } from './Benchmark';
import type { CatalogBackendSettings, TenancySettings } from './catalogBackend';
import type { Contestant } from './comparison';
import { ask, keepAskingFor, type LoadRequest } from './load';
import { ServerProcess } from './servers';

/** A request to a catalog, addressed within its plugin. */
export interface CatalogRequest {
  method: 'GET' | 'POST';
  path: string;
  body?: object;
  /** Sent as a user, whom the policy has to be asked about; as a service otherwise. */
  asUser?: boolean;
  /** The token of a user of one's own. */
  token?: string;
}

/** What a query has; a value may be there several times. */
export type Query = Record<string, string | number | string[]>;

export function get(path: string, query: Query = {}): CatalogRequest {
  const parameters = new URLSearchParams(
    Object.entries(query).flatMap(([name, value]) =>
      [value].flat().map(each => [name, String(each)]),
    ),
  );
  return { method: 'GET', path: `${path}?${parameters}` };
}

/** The path of an entity. */
export function pathByName({ kind, metadata }: Entity): string {
  return `/entities/by-name/${kind}/${metadata.namespace}/${metadata.name}`;
}

export function post(path: string, body: object): CatalogRequest {
  return { method: 'POST', path, body };
}

/** A backend with a catalog, in a process of its own. */
export class CatalogServer {
  /** @param options.tenant - whose catalog is read; without it, the stock catalog answers */
  static async start(
    { postgres: { connection } }: Pick<BenchmarkContext, 'postgres'>,
    options: {
      name: string;
      database: string;
      tenant?: string;
      tenancy?: TenancySettings;
    },
  ): Promise<CatalogServer> {
    const { name, database, tenant } = options;
    const settings: CatalogBackendSettings = {
      connection: { ...connection, database },
      tenancy: tenant === undefined ? undefined : options.tenancy ?? {},
    };
    const file = require.resolve('./catalogBackend');
    const process = await ServerProcess.start(file, settings);
    const userToken = await tokenOfGuest(process.url);
    return new CatalogServer(name, process, tenant, userToken);
  }

  private constructor(
    readonly name: string,
    private readonly process: ServerProcess,
    private readonly tenant: string | undefined,
    private readonly userToken: string,
  ) {}

  get url(): string {
    return this.process.url;
  }

  /** Tokens of the guest, each from a sign-in of its own. */
  async signIn(count: number): Promise<string[]> {
    const tokens: string[] = [];
    while (tokens.length < count) {
      tokens.push(await tokenOfGuest(this.url));
    }
    return tokens;
  }

  /** A request as it is sent. */
  complete(
    { method, path, body, asUser, token }: CatalogRequest,
    tenant = this.tenant,
  ): LoadRequest {
    const own = asUser ? this.userToken : SERVICE_TOKEN;
    return {
      method,
      path: `/api/catalog${path}`,
      headers: {
        authorization: `Bearer ${token ?? own}`,
        ...(tenant && { 'x-tenant-slug': tenant }),
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    };
  }

  /** Sends one request, and returns the parsed answer. */
  async answer<T>(request: CatalogRequest): Promise<T> {
    return JSON.parse(await ask(this.url, this.complete(request)));
  }

  /** The requests as they are sent, with the lengths of the answers that they have now. */
  async check(
    requests: CatalogRequest[],
    tenant?: string,
  ): Promise<LoadRequest[]> {
    const checked: LoadRequest[] = [];
    for (const request of requests) {
      const complete = this.complete(request, tenant);
      const { length } = await ask(this.url, complete);
      checked.push({ ...complete, answerLength: length });
    }
    return checked;
  }

  /** A contestant in answering requests, each as often as the others. */
  async answering(
    requests: CatalogRequest[],
    connections: number,
  ): Promise<Contestant> {
    const checked = await this.check(requests);
    return {
      name: this.name,
      measure: seconds =>
        keepAskingFor(seconds, this.url, checked, { connections }),
    };
  }

  async stop(): Promise<void> {
    await this.process.stop();
  }
}
