import { closeSync, mkdirSync, openSync, readFileSync } from 'fs';
import { join } from 'path';
import { targetPaths } from '@backstage/cli-common';
import { ClusterServer } from '@internal/catalog-testing/ClusterServer';
import { Postgres, withClient } from '@internal/postgres';
import { waitUntil } from '@internal/postgres/testUtils';
import { Clone } from '../../dev/__fixtures__/clone';
import { buildPages } from '../../dev/app';
import { BackendProcess, untilSamplesAreServed } from '../../dev/backend';
import {
  createApplicationUser,
  databaseEnvironment,
  startEmbeddedDatabase,
} from '../../dev/database';
import { loadSettings } from '../../dev/settings';
import { SourceServer } from './SourceServer';

/** Who may sign in: an administrator of all tenants, and a member of a tenant each. */
export type User = 'guest' | 'anna' | 'peter';

/** Of a service that may write to all tenants, as a plugin of theirs would. */
export const SERVICE_TOKEN = 'token-of-a-service-in-these-tests';

/** Where tests keep what they have seen. Named in .gitignore. */
export function evidenceFolder(): string {
  const folder = targetPaths.resolveRoot('packages/backend/e2e-tests/failed');
  mkdirSync(folder, { recursive: true });
  return folder;
}

export interface PortalOptions {
  /** Below which tenants have their hostnames. */
  domain?: string;
  /** What the backend gets on top of what `npm start` sets, by the portal's own address. */
  env?: (url: string) => Promise<Record<string, string>>;
}

/** What `npm start` starts, with data of its own: the pages, the backend and PostgreSQL. */
export class Portal {
  /** What the catalogs of tenants may read. */
  readonly sources: SourceServer;
  /** Stands in for the clusters of tenants. */
  readonly clusters: ClusterServer;

  readonly #clone: Clone;
  readonly #domain: string;
  readonly #postgres: Postgres;
  #backend: BackendProcess | undefined;

  static async start(options: PortalOptions = {}): Promise<Portal> {
    const { domain = 'localhost', env = async () => ({}) } = options;
    const { appPackages } = await loadSettings([]);
    await buildPages({
      config: [],
      appPackages,
      print: line => process.stderr.write(`${line}\n`),
    });
    const clone = await Clone.create();
    const postgres = await startEmbeddedDatabase(clone.folder);
    const sources = await new SourceServer().listen();
    const clusters = await new ClusterServer(
      path => `pod-of${path.replace('/', '-')}`,
    ).listen();
    const portal = new Portal({ clone, postgres, sources, clusters, domain });
    try {
      await portal.startBackend(await env(portal.url()));
      await untilSamplesAreServed(clone.url, () => true, { tenants: true });
    } catch (error) {
      await portal.remove();
      throw error;
    }
    return portal;
  }

  private constructor(options: {
    clone: Clone;
    postgres: Postgres;
    sources: SourceServer;
    clusters: ClusterServer;
    domain: string;
  }) {
    this.#clone = options.clone;
    this.#domain = options.domain;
    this.#postgres = options.postgres;
    this.sources = options.sources;
    this.clusters = options.clusters;
  }

  /** Where documents of the default tenant are published. */
  get documents(): string {
    return join(this.#clone.folder, '.techdocs/docs');
  }

  /** Where it serves, to a tenant by its hostname if one is given. */
  url(tenant?: string): string {
    const host = tenant ? `${tenant}.${this.#domain}` : this.#domain;
    return `http://${host}:${this.#clone.port}`;
  }

  /** @param env - on top of what `npm start` sets */
  async startBackend(env: Record<string, string> = {}): Promise<void> {
    const log = openSync(join(evidenceFolder(), 'backend.txt'), 'a');
    this.#backend = BackendProcess.start({
      args: [],
      folder: join(this.#clone.folder, 'packages/backend'),
      log,
      env: {
        ...databaseEnvironment(this.#postgres),
        ...(await createApplicationUser(this.#postgres)),
        MULTI_TENANCY_ENABLED: 'true',
        APP_CONFIG_app_baseUrl: JSON.stringify(this.url()),
        APP_CONFIG_backend_baseUrl: JSON.stringify(this.url()),
        APP_CONFIG_backend_listen_port: String(this.#clone.port),
        APP_CONFIG_backend_reading_allow: JSON.stringify([
          { host: this.sources.host },
          // Of the walk in README.md.
          { host: 'localhost:7008' },
          // Of no machine: what screenshots show.
          { host: 'git.example.com' },
        ]),
        APP_CONFIG_backend_auth_externalAccess: JSON.stringify([
          { type: 'static', options: { token: SERVICE_TOKEN, subject: 'e2e' } },
        ]),
        APP_CONFIG_kubernetes_clusterLocatorMethods: JSON.stringify([
          { type: 'catalog', dangerouslyAllowClusterUrls: ['127.0.0.1'] },
        ]),
        APP_CONFIG_tenancy_admins: JSON.stringify([
          'user:default/guest',
          'e2e',
        ]),
        APP_CONFIG_tenancy_engines_allow: JSON.stringify([
          { host: this.clusters.host },
          // Of the sample tenants.
          { host: '127.0.0.1:7009' },
        ]),
        APP_CONFIG_search_collators_catalog_schedule_frequency_seconds: '5',
        APP_CONFIG_search_collators_catalog_schedule_initialDelay_seconds: '1',
        ...env,
      },
    });
    closeSync(log);
    const isReady = await this.#backend.untilReady(
      `${this.#clone.url}/.backstage/health/v1/readiness`,
    );
    if (!isReady) {
      throw new Error(`The backend has ended: ${evidenceFolder()}/backend.txt`);
    }
  }

  async stopBackend(): Promise<void> {
    await this.#backend?.stop();
  }

  /** Keeps all processes of PostgreSQL from running for a while. */
  async whileFrozen(work: () => Promise<void>): Promise<void> {
    const { pid } = this.#postgres;
    // It starts no more of them once it is stopped itself.
    process.kill(pid, 'SIGSTOP');
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
    const all = [pid, ...children.split(' ').filter(Boolean).map(Number)];
    try {
      all.forEach(each => process.kill(each, 'SIGSTOP'));
      await work();
    } finally {
      all.forEach(each => process.kill(each, 'SIGCONT'));
    }
  }

  async remove(): Promise<void> {
    await this.stopBackend();
    await this.#postgres.stop();
    await this.#clone.remove();
    await this.sources.stop();
    await this.clusters.stop();
  }

  /** A request of the API, beside the browser. */
  async request(
    user: User,
    path: string,
    options: { method?: string; tenant?: string; body?: unknown } = {},
  ): Promise<Response> {
    const session = await fetch(`${this.#clone.url}/api/auth/${user}/refresh`);
    const { backstageIdentity } = await session.json();
    return await fetch(`${this.#clone.url}/api/${path}`, {
      method: options.method ?? 'GET',
      headers: {
        authorization: `Bearer ${backstageIdentity.token}`,
        'content-type': 'application/json',
        ...(options.tenant && { 'x-tenant-slug': options.tenant }),
      },
      ...(options.body !== undefined && { body: JSON.stringify(options.body) }),
    });
  }

  /** The same, which has to succeed. */
  async call(...args: Parameters<Portal['request']>): Promise<unknown> {
    const response = await this.request(...args);
    const text = await response.text();
    if (!response.ok) {
      throw new Error(`${args[1]}: ${response.status} ${text}`);
    }
    return text ? JSON.parse(text) : undefined;
  }

  /** Creates a tenant that an engine feeds, with one entity and members. */
  async createTenant(options: {
    slug: string;
    name: string;
    component: string;
    members?: string[];
  }): Promise<void> {
    const { slug, name, component, members = [] } = options;
    await this.call('guest', 'tenants', {
      method: 'POST',
      body: { tenant_slug: slug, tenant_name: name },
    });
    for (const member of members) {
      await this.call(
        'guest',
        `tenants/${slug}/members/${encodeURIComponent(member)}`,
        {
          method: 'PUT',
          body: { role: 'member' },
        },
      );
    }
    const target = this.sources.serveComponent(`/${slug}.yaml`, component);
    await this.register(slug, target);
    await this.untilServed(slug, component);
    for (const member of members) {
      await this.untilServed(slug, member.replace(':', '/'));
    }
  }

  /** Gives a tenant components, past its engine, which would take minutes for thousands. */
  async addComponents(slug: string, count: number): Promise<void> {
    await withClient(
      { ...this.#postgres.connection, database: 'backstage_plugin_catalog' },
      client =>
        client.query(
          `insert into tenancy.entities (tenant_id, entity_id, entity_ref, entity_kind,
                                       entity_namespace, entity_name, final_entity, hash)
         select t.tenant_id, u.id, 'component:default/' || n.name, 'component', 'default', n.name,
                jsonb_build_object(
                  'apiVersion', 'backstage.io/v1alpha1', 'kind', 'Component',
                  'metadata', jsonb_build_object(
                    'namespace', 'default', 'name', n.name, 'uid', u.id, 'etag', n.name),
                  'spec', jsonb_build_object(
                    'type', 'library', 'lifecycle', 'production', 'owner', 'guests')),
                'hash'
           from tenancy.tenants t, generate_series(1, $2::int) g,
                lateral (select 'part-' || g as name) n,
                lateral (select gen_random_uuid() as id where g > 0) u
          where t.tenant_slug = $1`,
          [slug, count],
        ),
    );
  }

  /** Registers a location in a tenant, once its engine runs. */
  async register(slug: string, target: string): Promise<void> {
    await waitUntil(`the engine of ${slug}`, async () => {
      const { status } = await this.request('guest', 'catalog/locations', {
        method: 'POST',
        tenant: slug,
        body: { type: 'url', target },
      });
      return status === 201;
    });
  }

  /** Sends a notification within a tenant. */
  async notify(
    tenant: string,
    entityRef: string,
    title: string,
  ): Promise<void> {
    const { status } = await fetch(
      `${this.#clone.url}/api/notifications/notifications`,
      {
        method: 'POST',
        headers: {
          authorization: `Bearer ${SERVICE_TOKEN}`,
          'content-type': 'application/json',
          'x-tenant-slug': tenant,
        },
        body: JSON.stringify({
          recipients: { type: 'entity', entityRef },
          payload: { title },
        }),
      },
    );
    if (status !== 200) {
      throw new Error(`The notification was answered with ${status}`);
    }
  }

  /** Waits until a tenant has a component, or what `kind/namespace/name` says. */
  async untilServed(tenant: string, entity: string): Promise<void> {
    await waitUntil(`${entity} in ${tenant}`, async () => {
      const path = `catalog/entities/by-name/${
        entity.includes('/') ? entity : `component/default/${entity}`
      }`;
      return (await this.request('guest', path, { tenant })).ok;
    });
  }

  /** Waits until the search of a tenant finds something. */
  async untilSearchFinds(tenant: string, term: string): Promise<void> {
    await waitUntil(`${term} in the search of ${tenant}`, async () => {
      const path = `search/query?term=${encodeURIComponent(term)}`;
      const response = await this.request('guest', path, { tenant });
      return response.ok && (await response.json()).results.length > 0;
    });
  }
}
