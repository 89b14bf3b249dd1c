import { schedulerServiceFactory } from '@backstage/backend-defaults/scheduler';
import {
  type Entity,
  parseEntityRef,
  stringifyEntityRef,
} from '@backstage/catalog-model';
import type { JsonObject } from '@backstage/types';
import { Comparison } from '@internal/catalog-testing/comparison';
import {
  get,
  post,
  type Request,
  type Send,
  sender,
} from '@internal/catalog-testing/requests';
import {
  type Caller,
  type CatalogBackend,
  startCatalogBackend,
} from '@internal/catalog-testing/startCatalogBackend';
import { createTenancyDatabase } from '@internal/catalog-testing/tenancyDatabase';
import {
  alterDatabase,
  createTestDatabases,
  eventually,
  HOSTILE_SETTINGS,
} from '@internal/postgres/testUtils';
import { readAdoptedTenants } from 'backstage-catalog-tenancy-migrations';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import { join } from 'node:path';
import type { ClientConfig } from 'pg';
// The command of the operator, in this process.
// eslint-disable-next-line @backstage/no-relative-monorepo-imports
import { runInProcess } from '../../../migrations/src/cli/__testUtils__/runCli';
import { tenantEngines } from '.';
import { SourceServer } from './__testUtils__/SourceServer';
import {
  type EngineHandle,
  locationRef,
  TenantSources,
  testProvider,
} from './__testUtils__/TenantSources';

const databases = createTestDatabases({ versions: 'newest' });

const TENANTS = ['acme', 'globex', 'initech'];

/** Every reference that a source ever has. */
const REFS = [
  ...['group:default/team-a', 'system:default/payments'],
  ...['component:default/website', 'component:default/worker'],
  'component:default/steady',
  ...['api:default/orders', 'component:default/deep'],
  ...['location:default/nested', 'resource:default/db'],
  ...['resource:default/cache', 'resource:default/queue'],
];

/** One of the two catalogs that are fed from the same sources. */
class Side {
  /** Ids that this catalog has made, by the names that stand for them. */
  readonly #ids = new Map<string, string>();

  constructor(
    readonly caller: Caller,
    private readonly plain: Send,
    private readonly handles: Map<string, EngineHandle>,
    private readonly tenant: string,
  ) {}

  get handle(): EngineHandle {
    return this.handles.get(this.tenant)!;
  }

  async entities(): Promise<Entity[]> {
    const { body } = await this.caller.get('/entities').expect(200);
    return body;
  }

  /** Learns the ids of what there is now. */
  async readIds(): Promise<void> {
    this.#ids.clear();
    for (const entity of await this.entities()) {
      const name = stringifyEntityRef(entity).replace(/\W+/g, '-');
      this.#ids.set(`uid-of-${name}.`, entity.metadata.uid!);
      // Made of the whole entity, with its uid.
      this.#ids.set(`etag-of-${name}.`, entity.metadata.etag!);
    }
    const { body } = await this.caller.get('/locations').expect(200);
    for (const { data } of body) {
      const name = data.target.replace(/\W+/g, '-');
      this.#ids.set(`id-of-${name}.`, data.id);
    }
  }

  /** Names of ids, for requests to both sides. */
  get names(): string[] {
    return [...this.#ids.keys()];
  }

  idOf(name: string): string {
    return this.#ids.get(name)!;
  }

  /** Sends a request with names in place of ids, and gives such an answer. */
  readonly send: Send = async request => {
    const answer = await this.plain(
      replaceAll(
        request,
        [...this.#ids].map(([name, id]) => [name, id]),
      ),
    );
    const named = replaceAll(
      answer,
      [...this.#ids].map(([name, id]) => [id, name]),
    );
    return { ...named, body: inOrder(request, named.body) };
  };
}

function replaceAll<T>(value: T, pairs: [string, string][]): T {
  return JSON.parse(
    pairs.reduce(
      (text, [from, to]) => text.replaceAll(from, to),
      JSON.stringify(value),
    ),
  );
}

/** Without an order, lists are in the order of ids, which differ. */
function inOrder({ path }: Request, body: any): any {
  const keyOf = ({ kind, metadata, data }: any) =>
    metadata ? `${kind} ${metadata.name}` : data.target;
  const sorted = (items: any[]) =>
    [...items].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  if (!/^\/(entities(\/by-query)?|locations)(\?|$)/.test(path)) {
    return body;
  }
  if (/order/i.test(path)) {
    return body;
  }
  if (Array.isArray(body)) {
    return sorted(body);
  }
  return body.items ? { ...body, items: sorted(body.items) } : body;
}

/** The requests by which the two sides are compared. */
function requests(names: string[], sources: TenantSources): Request[] {
  const orphans = 'metadata.annotations.backstage.io/orphan=true';
  return [
    get('/entities'),
    get('/entities?filter=kind=component&filter=kind=resource'),
    get(`/entities?filter=${encodeURIComponent(orphans)}`),
    get('/entities?filter=relations.ownedBy=group:default/team-a'),
    get('/entities?limit=3&offset=1&order=asc:metadata.name'),
    get('/entities?fields=kind,metadata.name,relations'),
    get('/entities/by-query?limit=100'),
    get('/entities/by-query?limit=100&orderField=metadata.name,desc'),
    get('/entities/by-query?limit=100&fullTextFilterTerm=version'),
    post('/entities/by-query', {
      limit: 100,
      query: { kind: { $in: ['component', 'api'] } },
    }),
    post('/entities/by-refs', {
      entityRefs: [...REFS, 'component:default/no'],
    }),
    get(
      '/entity-facets?facet=kind&facet=spec.type&facet=metadata.tags&facet=relations.ownedBy',
    ),
    ...REFS.map(ref => {
      const { kind, namespace, name } = parseEntityRef(ref);
      return get(`/entities/by-name/${kind}/${namespace}/${name}`);
    }),
    ...['component/default/website', 'component/default/deep'].map(ref =>
      get(`/entities/by-name/${ref}/ancestry`),
    ),
    ...names
      .filter(name => !name.startsWith('etag'))
      .map(name =>
        get(
          name.startsWith('uid')
            ? `/entities/by-uid/${name}`
            : `/locations/${name}`,
        ),
      ),
    get('/locations'),
    post('/validate-entity', {
      entity: sources.entity('Component', 'valid'),
      location: `url:${sources.url('a')}`,
    }),
    post('/validate-entity', {
      entity: { apiVersion: 'backstage.io/v1alpha1', kind: 'Component' },
      location: `url:${sources.url('a')}`,
    }),
    post('/locations?dryRun=true', { type: 'url', target: sources.url('b') }),
  ];
}

const SHARED = {
  processingInterval: { hours: 1 },
  stitchingStrategy: { pollingInterval: { milliseconds: 100 } },
  rules: [
    {
      allow: ['Component', 'API', 'Resource', 'System', 'Group', 'Location'],
    },
  ],
};

/** As `catalog`, for one tenant. */
function catalogConfig(sources: TenantSources) {
  return {
    locations: [{ type: 'file', target: sources.file }],
    providers: { test: { name: sources.tenant } },
  };
}

describe.each(databases.eachSupportedId())(
  'engines of three tenants beside three stock catalogs on %s',
  id => {
    let server: SourceServer;
    let folder: string;
    let connection: ClientConfig;
    let ours: CatalogBackend;
    let tenants: {
      sources: TenantSources;
      stock: Side;
      engine: Side;
      sides: Side[];
    }[];
    const stocks: CatalogBackend[] = [];

    /** Does something in each tenant, on both sides. */
    const onEach = async (
      act: (side: Side, sources: TenantSources) => Promise<void>,
    ) => {
      for (const { sides, sources } of tenants) {
        for (const side of sides) {
          await act(side, sources);
        }
      }
    };

    const refresh = (entityRefOf: (sources: TenantSources) => string) =>
      onEach(async ({ caller }, sources) => {
        // PostgreSQL may end it for the processing of a parent, with which it deadlocks.
        await eventually(async () => {
          const { status, body } = await caller.post('/refresh', {
            entityRef: entityRefOf(sources),
          });
          expect({ status, body }).toEqual({ status: 200, body: {} });
        });
      });

    const ofUrl = (name: string) => (sources: TenantSources) =>
      locationRef('url', sources.url(name));

    const register = (name: string) =>
      onEach(async ({ caller }, sources) => {
        const target = sources.url(name);
        await eventually(async () => {
          const { status } = await caller.post('/locations', {
            type: 'url',
            target,
          });
          // The first attempt may have been answered too late.
          expect([201, 409]).toContain(status);
        });
      });

    const titlesOf = async (side: Side) =>
      (await side.entities())
        .filter(({ kind }) => kind !== 'Location')
        .map(entity => `${stringifyEntityRef(entity)} ${entity.metadata.title}`)
        .sort();

    const withoutLocations = (titles: string[]) =>
      titles.filter(title => !title.startsWith('location:'));

    const textOf = async (slug: string, path: string) =>
      (await ours.as(slug).get(path).expect(200)).text;

    const expectNothingCrosses = async () => {
      const paths = [
        '/entities',
        '/entities/by-query',
        '/entity-facets?facet=metadata.tags',
      ];
      for (const slug of [...TENANTS, 'default']) {
        const texts = await Promise.all(
          [...paths, ...(slug === 'default' ? [] : ['/locations'])].map(path =>
            textOf(slug, path),
          ),
        );
        for (const other of TENANTS.filter(each => each !== slug)) {
          expect(texts.join()).not.toMatch(
            new RegExp(`of-${other}|of ${other}|/${other}/`),
          );
        }
      }
      const { body } = await ours.as('default').get('/entities');
      expect(body).toEqual([]);
    };

    /**
     * Waits until each catalog shows what its sources have, and its tenant's answers are those
     * of the stock catalog; then looks for whatever should not be there.
     */
    const untilEqual = async () => {
      for (const { sources, sides, engine, stock } of tenants) {
        const due = withoutLocations(sources.titles());
        for (const side of sides) {
          await eventually(async () =>
            expect(await titlesOf(side)).toEqual(due),
          );
        }
        await eventually(async () => {
          await Promise.all(sides.map(side => side.readIds()));
          expect(engine.names.sort()).toEqual(stock.names.sort());
          const comparison = new Comparison(stock.send, engine.send);
          for (const request of requests(stock.names, sources)) {
            await comparison.compare(request);
          }
          expect(comparison.differences).toEqual([]);
          expect(comparison.found).toBeGreaterThan(20);
        });
      }
      await expectNothingCrosses();
      // Compares the rows of each tenant with its engine's, by checksum.
      const { exitCode, stderr } = await runInProcess(connection, 'verify');
      if (exitCode !== 0) {
        throw new Error(stderr);
      }
      expect(
        (await readAdoptedTenants({ connection })).map(
          ({ slug, faults, isComplete }) => ({ slug, faults, isComplete }),
        ),
      ).toEqual(
        ['default', ...TENANTS].map(slug => ({
          slug,
          faults: 0,
          isComplete: true,
        })),
      );
    };

    /** Sooner than every 30 seconds, at which it runs anyway: a run under way refuses another. */
    const orphansAreDeleted = () =>
      onEach(({ handle }) =>
        eventually(() =>
          handle.scheduler.triggerTask('catalog_orphan_cleanup'),
        ),
      );

    beforeAll(async () => {
      server = await new SourceServer().listen();
      folder = await mkdtemp(join(os.tmpdir(), 'tenants-sources-'));
      connection = await createTenancyDatabase(databases, id);
      // Whatever an operator has given it; the stock catalogs have the defaults.
      await alterDatabase(connection, HOSTILE_SETTINGS);
      const reading = { allow: [{ host: server.host }] };
      const all = TENANTS.map(
        tenant => new TenantSources(tenant, server, folder),
      );
      for (const sources of all) {
        await sources.putFile([
          sources.entity('Group', 'team-a'),
          sources.entity('System', 'payments'),
        ]);
      }
      const handles = new Map<string, EngineHandle>();
      ours = await startCatalogBackend({
        connection,
        enabled: true,
        config: {
          backend: { reading },
          catalog: { ...SHARED, processingInterval: false },
          tenancy: {
            engines: { processingInterval: { hours: 1 } },
            tenants: Object.fromEntries(
              all.map(sources => [
                sources.tenant,
                { catalog: catalogConfig(sources) },
              ]),
            ),
          },
        } as JsonObject,
        features: [
          schedulerServiceFactory,
          tenantEngines({ features: [testProvider(handles)] }),
        ],
      });
      tenants = [];
      for (const sources of all) {
        const { tenant } = sources;
        await ours.tenants.create({ tenant_slug: tenant, tenant_name: tenant });
        const stockHandles = new Map<string, EngineHandle>();
        const backend = await startCatalogBackend({
          connection: await createTenancyDatabase(databases, id),
          config: {
            backend: { reading },
            catalog: { ...SHARED, ...catalogConfig(sources) },
          } as JsonObject,
          features: [schedulerServiceFactory, testProvider(stockHandles)],
        });
        stocks.push(backend);
        const stock = new Side(
          backend.as(undefined),
          sender(backend),
          stockHandles,
          tenant,
        );
        const engine = new Side(
          ours.as(tenant),
          sender(ours, { tenant }),
          handles,
          tenant,
        );
        tenants.push({ sources, stock, engine, sides: [stock, engine] });
      }
    });

    afterAll(async () => {
      await Promise.all([ours, ...stocks].map(backend => backend?.stop()));
      await server?.stop();
      await rm(folder, { recursive: true, force: true });
    });

    it('ingest what app-config, users and providers name', async () => {
      for (const { sources } of tenants) {
        sources.put('nested', [sources.entity('Component', 'deep')]);
        sources.put('a', [
          sources.entity('Component', 'website'),
          sources.entity('API', 'orders'),
          sources.locationTo('nested'),
        ]);
        sources.put('b', [
          sources.entity('Component', 'worker'),
          sources.entity('Component', 'steady'),
        ]);
        sources.note('provider', [
          sources.entity('Resource', 'db'),
          sources.entity('Resource', 'cache'),
        ]);
      }
      await register('a');
      await register('b');
      await onEach(({ handle }, sources) =>
        handle.connection.applyMutation({
          type: 'full',
          entities: sources
            .contents('provider')
            .map(entity => sources.deferred(entity)),
        }),
      );
      await untilEqual();
      for (const { engine } of tenants) {
        const { body } = await engine.caller.get(
          '/entities/by-name/component/default/website',
        );
        expect(
          body.relations
            .map(({ targetRef }: { targetRef: string }) => targetRef)
            .sort(),
        ).toEqual([
          'api:default/orders',
          'group:default/team-a',
          'resource:default/db',
          'system:default/payments',
        ]);
      }
    });

    it('follow changes of files, of URLs and by a delta', async () => {
      for (const { sources } of tenants) {
        await sources.putFile([
          sources.entity('Group', 'team-a'),
          sources.entity('System', 'payments'),
        ]);
        sources.put('a', [
          sources.entity('Component', 'website'),
          sources.entity('API', 'orders'),
          sources.locationTo('nested'),
        ]);
        sources.put('nested', [sources.entity('Component', 'deep')]);
      }
      const before = new Map(
        tenants.map(({ sources }) => [sources, sources.contents('provider')]),
      );
      for (const { sources } of tenants) {
        sources.note('provider', [
          sources.entity('Resource', 'db'),
          sources.entity('Resource', 'queue'),
        ]);
      }
      await refresh(sources => locationRef('file', sources.file));
      await refresh(ofUrl('a'));
      await refresh(() => 'component:default/deep');
      await onEach(({ handle }, sources) =>
        handle.connection.applyMutation({
          type: 'delta',
          added: sources
            .contents('provider')
            .map(entity => sources.deferred(entity)),
          removed: before
            .get(sources)!
            .slice(1)
            .map(entity => sources.deferred(entity)),
        }),
      );
      await expect(untilEqual()).resolves.toBeUndefined();
    });

    it('keep an entity that moves to another location, once it was an orphan', async () => {
      const orphans = new Map(
        tenants.map(({ sources }) => [
          sources,
          sources.contents('b').slice(0, 1),
        ]),
      );
      tenants.forEach(({ sources }) =>
        sources.put('b', [sources.entity('Component', 'steady')]),
      );
      await refresh(ofUrl('b'));
      await orphansAreDeleted();
      await untilEqual();
      for (const { sources } of tenants) {
        sources.put('a', [...sources.contents('a'), ...orphans.get(sources)!]);
      }
      await refresh(ofUrl('a'));
      await expect(untilEqual()).resolves.toBeUndefined();
    });

    it('take what a provider hands over as a whole in place of what it had', async () => {
      for (const { sources } of tenants) {
        sources.note('provider', [
          sources.entity('Resource', 'db'),
          sources.entity('Resource', 'cache'),
        ]);
      }
      await onEach(({ handle }, sources) =>
        handle.connection.applyMutation({
          type: 'full',
          entities: sources
            .contents('provider')
            .map(entity => sources.deferred(entity)),
        }),
      );
      await expect(untilEqual()).resolves.toBeUndefined();
    });

    it('delete an entity by its id, which comes back with its source', async () => {
      await onEach(async side => {
        await side.caller
          .send(
            'DELETE',
            `/entities/by-uid/${side.idOf('uid-of-api-default-orders.')}`,
          )
          .expect(204);
      });
      await refresh(ofUrl('a'));
      await expect(untilEqual()).resolves.toBeUndefined();
    });

    it('delete a location with all that comes from it', async () => {
      const kept = new Map(
        tenants.map(({ sources }) => [
          sources,
          ['a', 'nested'].map(name => [name, sources.contents(name)] as const),
        ]),
      );
      await onEach(async (side, sources) => {
        const name = `id-of-${sources.url('a').replace(/\W+/g, '-')}.`;
        await side.caller
          .send('DELETE', `/locations/${side.idOf(name)}`)
          .expect(204);
      });
      for (const { sources } of tenants) {
        kept.get(sources)!.forEach(([name]) => sources.note(name, []));
      }
      await untilEqual();
      await register('a');
      for (const { sources } of tenants) {
        kept
          .get(sources)!
          .forEach(([name, entities]) => sources.note(name, entities));
      }
      await expect(untilEqual()).resolves.toBeUndefined();
    });
  },
);
