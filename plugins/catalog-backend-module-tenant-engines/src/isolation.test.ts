import { schedulerServiceFactory } from '@backstage/backend-defaults/scheduler';
import {
  coreServices,
  createBackendModule,
  type RootConfigService,
} from '@backstage/backend-plugin-api';
import { mockCredentials } from '@backstage/backend-test-utils';
import { type Entity, stringifyEntityRef } from '@backstage/catalog-model';
import {
  catalogProcessingExtensionPoint,
  type EntityProviderConnection,
} from '@backstage/plugin-catalog-node';
import type { JsonObject } from '@backstage/types';
import type { CatalogBackend } from '@internal/catalog-testing/startCatalogBackend';
import {
  createTestDatabases,
  eventually,
  waitUntil,
  withClient,
} from '@internal/postgres/testUtils';
import {
  adopt,
  engineSchemaOf,
  readAdoptedTenants,
  retryFaults,
} from 'backstage-catalog-tenancy-migrations';
import {
  type TenantEngines,
  tenantEnginesServiceRef,
  type TenantEngineStore,
  tenantEngineStoreServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';
// The plugin itself, by which tenants are configured.
// eslint-disable-next-line @backstage/no-mixed-plugin-imports
import tenantsPlugin from 'backstage-plugin-tenants-backend';
import type { ClientConfig } from 'pg';
import request from 'supertest';
import { SourceServer } from './__testUtils__/SourceServer';
import { TenantSources } from './__testUtils__/TenantSources';
import { TenantsOfTest } from './__testUtils__/TenantsOfTest';

const databases = createTestDatabases({ versions: 'newest' });

const never = () => new Promise<never>(() => undefined);

/** What is wrong with the engine of a tenant, by the tenant's slug. */
const broken = {
  connect: new Set<string>(),
  processor: new Set<string>(),
  task: new Set<string>(),
};
/** Ends the wait of the provider in the latest start of a tenant's engine. */
const hanging = new Map<string, () => void>();
/** How often the engine of a tenant has started, and its task has begun. */
const starts = new Map<string, number>();
const runs = new Map<string, number>();
const connections = new Map<string, EntityProviderConnection>();

const count = (counts: Map<string, number>, name: string) =>
  counts.set(name, (counts.get(name) ?? 0) + 1);

/** The tenant, whose locations have it in their paths. */
function nameOf(config: RootConfigService): string {
  const [location] = config.getOptionalConfigArray('catalog.locations') ?? [];
  return location
    ? new URL(location.getString('target')).pathname.split('/')[1]
    : config.getOptionalString('catalog.providers.test.name') ?? 'nameless';
}

/** A module that the tests can break for one tenant. */
const breakableModule = createBackendModule({
  pluginId: 'catalog',
  moduleId: 'breakable',
  register(env) {
    env.registerInit({
      deps: {
        config: coreServices.rootConfig,
        processing: catalogProcessingExtensionPoint,
        scheduler: coreServices.scheduler,
      },
      async init({ config, processing, scheduler }) {
        const name = nameOf(config);
        processing.addEntityProvider({
          getProviderName: () => 'breakable',
          async connect(connection) {
            if (broken.connect.has(name)) {
              await new Promise<void>(resolve => hanging.set(name, resolve));
            }
            connections.set(name, connection);
            count(starts, name);
          },
        });
        processing.addProcessor({
          getProcessorName: () => 'breakable',
          async preProcessEntity(entity) {
            if (broken.processor.has(name) && entity.kind === 'Component') {
              throw new TypeError('The processor is broken');
            }
            return entity;
          },
        });
        await scheduler.scheduleTask({
          id: 'breakable',
          frequency: { seconds: 1 },
          timeout: { minutes: 5 },
          async fn() {
            count(runs, name);
            if (broken.task.has(name)) {
              await never();
            }
          },
        });
      },
    });
  },
});

describe.each(databases.eachSupportedId())('an engine on %s', id => {
  let server: SourceServer;
  let tenants: TenantsOfTest;
  let connection: ClientConfig;
  let backend: CatalogBackend;
  let store: TenantEngineStore;
  let engines: TenantEngines;
  const sources = new Map<string, TenantSources>();
  const ids = new Map<string, string>();

  const createTenant = async (slug: string, options: object = {}) => {
    const { tenant_id } = await backend.tenants.create({
      tenant_slug: slug,
      tenant_name: slug,
      ...options,
    });
    ids.set(slug, tenant_id);
  };

  const configOf = (slug: string, more: JsonObject = {}): JsonObject => ({
    catalog: {
      locations: [{ type: 'url', target: sources.get(slug)!.url('a') }],
      ...more,
    },
  });

  const configure = (slug: string, config: JsonObject) =>
    request(backend.server)
      .put(`/api/tenants/${slug}/catalog-config`)
      .set('Authorization', mockCredentials.user.header())
      .send(config);

  const titlesOf = async (slug: string): Promise<string[]> => {
    const { body } = await backend
      .as(slug)
      .get('/entities?filter=kind=component')
      .expect(200);
    const titles: string[] = body.map(
      (entity: Entity) =>
        `${stringifyEntityRef(entity)} ${entity.metadata.title}`,
    );
    return titles.sort();
  };

  /** Waits until a tenant shows what its source has. */
  const ingested = async (slug: string) => {
    await eventually(async () =>
      expect(await titlesOf(slug)).toEqual(sources.get(slug)!.titles()),
    );
  };

  /** Changes the source of a tenant. */
  const change = (slug: string) => {
    const source = sources.get(slug)!;
    source.put('a', [source.entity('Component', 'website')]);
  };

  const running = (slug: string) =>
    waitUntil(
      `the engine of ${slug} to run`,
      () => engines.statusOf(ids.get(slug)!).state === 'running',
    );

  /** What the routes of a tenant say while its engine has failed. */
  const failure = () =>
    waitUntil('the routes to say what is wrong', async () => {
      const answer = await backend.as('acme').get('/locations');
      if (!answer.body.error?.message.includes('has failed')) {
        return undefined;
      }
      expect(answer.status).toBe(503);
      expect(JSON.stringify(answer.body)).not.toMatch(
        /select |insert |relation \\?"|node_modules|globex/i,
      );
      const { state, nextAttemptAt } = engines.statusOf(ids.get('acme')!);
      // The next attempt may have begun since.
      expect(state === 'starting' || nextAttemptAt instanceof Date).toBe(true);
      return answer.body.error.message as string;
    });

  /** That the other tenants ingest changes meanwhile, with the engines that they had. */
  const expectOthersUnaffected = async (before: number) => {
    for (const slug of ['globex', 'default']) {
      change(slug);
      await ingested(slug);
    }
    expect(engines.statusOf(ids.get('globex')!).state).toBe('running');
    expect(starts.get('globex')).toBe(before);
    await backend.as('globex').get('/locations').expect(200);
  };

  const startsOfOther = () => starts.get('globex')!;

  beforeAll(async () => {
    for (const each of [...Object.values(broken), starts, runs, connections]) {
      each.clear();
    }
    server = await new SourceServer().listen();
    tenants = await TenantsOfTest.create(databases, id, []);
    ({ connection } = tenants);
    await adopt({ connection });
    const started = await tenants.start(
      { engines: tenantEnginesServiceRef, store: tenantEngineStoreServiceRef },
      {
        isEager: true,
        config: {
          backend: { reading: { allow: [{ host: server.host }] } },
          tenancy: {
            admins: ['user:default/mock'],
            tenants: { acme: { secrets: ['ACME_SECRET_OF_THE_TEST'] } },
          },
        },
        features: [tenantsPlugin, schedulerServiceFactory],
        modules: [breakableModule],
        timing: {
          startMs: 20_000,
          shortestPauseMs: 100,
          longestPauseMs: 1_000,
          checkMs: 500,
        },
      },
    );
    ({ backend } = started);
    ({ engines, store } = started.services);
    for (const slug of ['acme', 'globex', 'default']) {
      const source = new TenantSources(slug, server, '');
      sources.set(slug, source);
      source.put('a', [source.entity('Component', 'website')]);
      if (slug === 'default') {
        await backend
          .as('default')
          .post('/locations', { type: 'url', target: source.url('a') })
          .expect(201);
      } else {
        await createTenant(slug);
        await configure(slug, configOf(slug)).expect(200);
      }
    }
    for (const slug of sources.keys()) {
      await ingested(slug);
    }
  });

  afterEach(() => {
    Object.values(broken).forEach(slugs => slugs.clear());
  });

  afterAll(async () => {
    delete process.env.ACME_SECRET_OF_THE_TEST;
    await tenants?.close();
    await server?.stop();
  });

  it('that has an invalid configuration stands alone, and heals when it is valid', async () => {
    const before = startsOfOther();
    const titles = await titlesOf('acme');
    // Valid when it was written, as far as the registry knows.
    await store.putConfig(
      'acme',
      configOf('acme', {
        providers: { test: { secret: '${ACME_SECRET_OF_THE_TEST}' } },
      }),
      { by: 'test' },
    );
    expect(await failure()).toContain('ACME_SECRET_OF_THE_TEST');
    await expectOthersUnaffected(before);
    expect(await titlesOf('acme')).toEqual(titles);

    process.env.ACME_SECRET_OF_THE_TEST = 'hidden';
    change('acme');
    await ingested('acme');
    await backend.as('acme').get('/locations').expect(200);
  });

  it('whose processor throws shows that, and keeps the others out of it', async () => {
    const before = startsOfOther();
    const titles = await titlesOf('acme');
    broken.processor.add('acme');
    change('acme');
    await waitUntil('the error of the processor', async () => {
      const { rows } = await withClient(connection, client =>
        client.query(
          `select from ${engineSchemaOf(ids.get('acme')!)}.refresh_state
            where errors like '%The processor is broken%'`,
        ),
      );
      return rows.length > 0;
    });
    await expectOthersUnaffected(before);
    expect(await titlesOf('acme')).toEqual(titles);
    await backend.as('acme').get('/locations').expect(200);

    broken.processor.delete('acme');
    await ingested('acme');
  });

  it('whose provider never connects fails alone, and heals once it does', async () => {
    const before = startsOfOther();
    const titles = await titlesOf('acme');
    broken.connect.add('acme');
    await configure(
      'acme',
      configOf('acme', { rules: [{ allow: ['Component', 'Location'] }] }),
    ).expect(200);
    expect(await failure()).toContain('has not started within 20 seconds');
    await expectOthersUnaffected(before);
    expect(await titlesOf('acme')).toEqual(titles);

    // The next attempt heals it, which may be under way: it need not run out of time too.
    broken.connect.delete('acme');
    hanging.get('acme')?.();
    change('acme');
    await ingested('acme');
    await backend.as('acme').get('/locations').expect(200);
  });

  it('whose task never ends goes on with all else, as the tasks of others do', async () => {
    const before = startsOfOther();
    broken.task.add('acme');
    const runsOf = (slug: string) => runs.get(slug) ?? 0;
    const acmeBefore = runsOf('acme');
    await waitUntil('the task to begin', () => runsOf('acme') > acmeBefore);
    const globexBefore = runsOf('globex');
    await expectOthersUnaffected(before);
    await waitUntil(
      'the task of the other to run twice',
      () => runsOf('globex') > globexBefore + 1,
    );
    change('acme');
    await ingested('acme');
    // The engine also stops and starts beside it.
    const acmeStarts = starts.get('acme')!;
    await configure(
      'acme',
      configOf('acme', {
        rules: [{ allow: ['Component', 'Location', 'API'] }],
      }),
    ).expect(200);
    await waitUntil('another start', () => starts.get('acme')! > acmeStarts);
    expect(starts.get('acme')).toBeGreaterThan(acmeStarts);
    change('acme');
    await ingested('acme');
  });

  it('whose schema is dropped says so, and makes it again', async () => {
    await running('acme');
    const before = startsOfOther();
    await withClient(connection, client =>
      client.query(`drop schema ${engineSchemaOf(ids.get('acme')!)} cascade`),
    );
    // What was carried stays.
    expect(await titlesOf('acme')).toEqual(sources.get('acme')!.titles());
    await expectOthersUnaffected(before);
    change('acme');
    await ingested('acme');
    await running('acme');
    await backend.as('acme').get('/locations').expect(200);
  });

  it('of a deleted tenant stops, keeps its schema, and goes on when it is restored', async () => {
    const slug = 'brief';
    const source = new TenantSources(slug, server, '');
    sources.set(slug, source);
    source.put('a', [source.entity('Component', 'website')]);
    await createTenant(slug);
    await configure(slug, configOf(slug)).expect(200);
    await ingested(slug);
    const schema = engineSchemaOf(ids.get(slug)!);
    const stored = () =>
      withClient(connection, async client => {
        const { rows } = await client.query(
          `select (select count(*)::int from ${schema}.refresh_state) as states,
                  (select final_entity::jsonb #>> '{metadata,title}' from ${schema}.final_entities
                    where entity_ref = 'component:default/website') as title`,
        );
        return rows[0];
      });
    const before = await stored();

    await backend.tenants.delete(slug);
    for (const path of ['/entities', '/locations']) {
      const { status, body } = await backend.as(slug).get(path);
      expect([status, body]).toEqual([403, { error: 'Invalid tenant' }]);
    }
    await waitUntil(
      'the engine to have stopped',
      () => engines.statusOf(ids.get(slug)!).state === 'stopped',
    );
    change(slug);
    // Others read theirs meanwhile, as often as this one would.
    await expectOthersUnaffected(startsOfOther());
    expect(await stored()).toEqual(before);

    await backend.tenants.restore(slug);
    await ingested(slug);
    await backend.as(slug).get('/locations').expect(200);
  });

  it('that has more entities than its tenant may have keeps the others aside', async () => {
    const slug = 'small';
    const source = new TenantSources(slug, server, '');
    sources.set(slug, source);
    source.put('a', []);
    await createTenant(slug, { max_entities: 3 });
    await store.putConfig(
      slug,
      { catalog: { providers: { test: { name: slug } } } },
      { by: 'test' },
    );
    await waitUntil('the provider', () => connections.has(slug));
    const entities = ['one', 'two', 'three', 'four', 'five'].map(name =>
      source.entity('Component', name),
    );
    source.note('provider', entities);
    await eventually(() =>
      connections.get(slug)!.applyMutation({
        type: 'full',
        entities: entities.map(entity => source.deferred(entity)),
      }),
    );
    const adopted = async () =>
      (await readAdoptedTenants({ connection })).find(
        tenant => tenant.slug === slug,
      );
    await eventually(async () =>
      expect(await adopted()).toMatchObject({ faults: 2 }),
    );
    const titles = await titlesOf(slug);
    expect(titles).toHaveLength(3);
    expect(source.titles()).toEqual(expect.arrayContaining(titles));
    await expectOthersUnaffected(startsOfOther());

    await backend.tenants.update(slug, { max_entities: 5 });
    // The backend may retry at the same time, which excludes this one.
    await eventually(() =>
      retryFaults({ connection, tenantId: ids.get(slug)! }),
    );
    await ingested(slug);
    expect(await adopted()).toMatchObject({ faults: 0 });
  });
});
