import { schedulerServiceFactory } from '@backstage/backend-defaults/scheduler';
import {
  coreServices,
  createBackendModule,
  createServiceFactory,
  type RootConfigService,
} from '@backstage/backend-plugin-api';
import {
  type MetricAttributes,
  type MetricsService,
  metricsServiceRef,
  type MetricsServiceObservableCallback,
} from '@backstage/backend-plugin-api/alpha';
import { mockCredentials } from '@backstage/backend-test-utils';
import { catalogProcessingExtensionPoint } from '@backstage/plugin-catalog-node';
import type { JsonObject } from '@backstage/types';
import type { CatalogBackend } from '@internal/catalog-testing/startCatalogBackend';
import {
  createTestDatabases,
  eventually,
  waitUntil,
  withClient,
} from '@internal/postgres/testUtils';
import {
  type TenantEngineStore,
  tenantEngineStoreServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';
// The plugin itself, by which tenants are paused and looked at.
// eslint-disable-next-line @backstage/no-mixed-plugin-imports
import tenantsPlugin from 'backstage-plugin-tenants-backend';
import { engineSchemaOf } from 'backstage-catalog-tenancy-migrations';
import { randomUUID } from 'node:crypto';
import request from 'supertest';
import { SourceServer } from '../__testUtils__/SourceServer';
import { TenantSources } from '../__testUtils__/TenantSources';
import { TenantsOfTest } from '../__testUtils__/TenantsOfTest';
import { enginesServiceRef } from '../module';
import type { WorkByTenant } from '../work/WorkByTenant';
import { EngineStatusStore } from './EngineStatusStore';

const databases = createTestDatabases({ versions: 'newest' });

const SECRET = 's3cret-of-the-test';
const OTHER_PROCESS = '00000000-0000-4000-8000-00000000000a';

/** How often the task of a tenant's engine has run, by the name in its configuration. */
const runs = new Map<string, number>();

const nameOf = (config: RootConfigService) =>
  config.getOptionalString('catalog.providers.test.name') ?? 'nameless';

/** A provider that fails where it is told to, and counts how often its task runs. */
const countingModule = createBackendModule({
  pluginId: 'catalog',
  moduleId: 'counting',
  register(env) {
    env.registerInit({
      deps: {
        config: coreServices.rootConfig,
        processing: catalogProcessingExtensionPoint,
        scheduler: coreServices.scheduler,
      },
      async init({ config, processing, scheduler }) {
        const token = config.getOptionalString('catalog.providers.test.token');
        processing.addEntityProvider({
          getProviderName: () => 'counting',
          async connect() {
            if (token !== undefined) {
              throw new Error(`The token ${token} is not accepted`);
            }
          },
        });
        await scheduler.scheduleTask({
          id: 'counting',
          frequency: { milliseconds: 500 },
          timeout: { minutes: 5 },
          async fn() {
            const name = nameOf(config);
            runs.set(name, (runs.get(name) ?? 0) + 1);
          },
        });
      },
    });
  },
});

/** The metrics of a backend, and what a collection finds. */
class Metrics {
  readonly #gauges = new Map<string, MetricsServiceObservableCallback[]>();
  readonly counters = new Map<string, number>();

  readonly service = {
    createCounter: (name: string) => ({
      add: (value: number) =>
        this.counters.set(name, (this.counters.get(name) ?? 0) + value),
    }),
    createHistogram: () => ({ record: () => undefined }),
    createGauge: () => ({ record: () => undefined }),
    createUpDownCounter: () => ({ add: () => undefined }),
    createObservableCounter: () => ({ addCallback: () => undefined }),
    createObservableUpDownCounter: () => ({ addCallback: () => undefined }),
    createObservableGauge: (name: string) => {
      const callbacks: MetricsServiceObservableCallback[] = [];
      this.#gauges.set(name, callbacks);
      return {
        addCallback: (callback: MetricsServiceObservableCallback) =>
          callbacks.push(callback),
      };
    },
  } as unknown as MetricsService;

  /** Each time series of tenancy with its value. */
  collect(): Map<string, number> {
    const found = new Map<string, number>();
    const own = [...this.#gauges].filter(([name]) =>
      name.startsWith('tenancy.'),
    );
    for (const [name, callbacks] of own) {
      const observe = (value: number, attributes?: MetricAttributes) => {
        found.set(`${name} ${JSON.stringify(attributes ?? {})}`, value);
      };
      callbacks.forEach(callback => callback({ observe }));
    }
    return found;
  }
}

describe.each(databases.eachSupportedId())('the status on %s', id => {
  let server: SourceServer;
  let tenants: TenantsOfTest;
  let backend: CatalogBackend;
  let metrics: Metrics;
  let store: TenantEngineStore;
  let works: WorkByTenant;
  const sources = new Map<string, TenantSources>();

  const startBackend = async (role: 'all' | 'none') => {
    const own = new Metrics();
    const started = await tenants.start(
      { engines: enginesServiceRef, store: tenantEngineStoreServiceRef },
      {
        role,
        isEager: true,
        config: {
          backend: { reading: { allow: [{ host: server.host }] } },
          tenancy: {
            admins: ['user:default/mock'],
            tenants: { acme: { secrets: ['ACME_TOKEN_OF_THE_TEST'] } },
          },
        },
        features: [
          tenantsPlugin,
          schedulerServiceFactory,
          createServiceFactory({
            service: metricsServiceRef,
            deps: {},
            factory: () => own.service,
          }),
        ],
        modules: [countingModule],
        timing: {
          shortestPauseMs: 100,
          longestPauseMs: 1_000,
          checkMs: 500,
          gatherMs: 50,
          sampleMs: 200,
          caughtUpMs: 200,
        },
      },
    );
    if (role === 'all') {
      metrics = own;
      works = started.services.engines.works;
      ({ store } = started.services);
    }
    return started.backend;
  };

  const call = (method: 'get' | 'put' | 'delete', path: string) =>
    request(backend.server)
      [method](`/api/tenants/${path}`)
      .set('Authorization', mockCredentials.user.header());

  const statusOf = async (slug: string) => {
    const { body } = await call('get', `${slug}/status`).expect(200);
    return body;
  };

  /** Waits until the status of a tenant is like this. */
  const statusLike = (slug: string, expected: object) =>
    eventually(async () =>
      expect(await statusOf(slug)).toMatchObject(expected),
    );

  const configOf = (slug: string, provider: JsonObject = {}): JsonObject => ({
    catalog: {
      locations: [{ type: 'url', target: sources.get(slug)!.url('a') }],
      providers: { test: { name: slug, ...provider } },
    },
  });

  const change = (slug: string) => {
    const source = sources.get(slug)!;
    source.put('a', [source.entity('Component', 'website')]);
  };

  const titlesOf = async (slug: string) => {
    const { body } = await backend
      .as(slug)
      .get('/entities?filter=kind=component')
      .expect(200);
    return body.map(
      (entity: { metadata: { title: string } }) =>
        `component:default/website ${entity.metadata.title}`,
    );
  };

  const ingested = (slug: string) =>
    eventually(async () =>
      expect(await titlesOf(slug)).toEqual(sources.get(slug)!.titles()),
    );

  beforeAll(async () => {
    runs.clear();
    server = await new SourceServer().listen();
    tenants = await TenantsOfTest.create(databases, id, [
      'acme',
      'globex',
      'initech',
    ]);
    backend = await startBackend('all');
    for (const slug of tenants.slugs) {
      sources.set(slug, new TenantSources(slug, server, ''));
      change(slug);
      if (slug !== 'initech') {
        await store.putConfig(slug, configOf(slug), { by: 'test' });
      }
    }
    await Promise.all(['acme', 'globex'].map(ingested));
  });

  afterAll(async () => {
    delete process.env.ACME_TOKEN_OF_THE_TEST;
    await tenants?.close();
    await server?.stop();
  });

  it('of an engine that runs has its entities, and when nothing was left to do', async () => {
    await statusLike('acme', {
      tenant_slug: 'acme',
      state: 'running',
      reason: null,
      paused_at: null,
      faults: 0,
      lag_seconds: expect.any(Number),
      source_errors: [],
      last_error: null,
      last_full_run_at: expect.any(String),
    });
    expect((await statusOf('acme')).entities).toBeGreaterThan(0);
  });

  it('of an engine that has failed has the reason, without secrets, which stays as the last error', async () => {
    process.env.ACME_TOKEN_OF_THE_TEST = SECRET;
    await store.putConfig(
      'acme',
      configOf('acme', { token: '${ACME_TOKEN_OF_THE_TEST}' }),
      { by: 'test' },
    );
    await statusLike('acme', {
      last_error: expect.stringContaining('The token *** is not accepted'),
      last_error_at: expect.any(String),
    });
    const { rows } = await withClient(tenants.connection, client =>
      client.query('select * from tenancy.engine_status'),
    );
    expect(JSON.stringify(rows)).not.toContain(SECRET);
    expect(
      metrics.counters.get('tenancy.engines.failures.count'),
    ).toBeGreaterThan(0);

    await store.putConfig('acme', configOf('acme'), { by: 'test' });
    await statusLike('acme', {
      state: 'running',
      reason: null,
      last_error: expect.stringContaining('is not accepted'),
    });
  });

  it('of an engine that another process has is what that one has written, as long as it lives', async () => {
    // Deleted, so that this process takes no lease of it.
    const {
      rows: [{ tenant_id }],
    } = await withClient(tenants.connection, client =>
      client.query(
        `insert into tenancy.tenants (tenant_slug, tenant_name, deleted_at)
         values ('umbrella', 'Umbrella', now()) returning tenant_id`,
      ),
    );
    const lease = (expires: string) =>
      withClient(tenants.connection, client =>
        client.query(
          `set search_path = tenancy;
           -- Nothing but these rows is of that process.
           delete from engine_leases where tenant_id = '${tenant_id}';
           insert into engine_processes (process_id, name, expires_at)
           values ('${OTHER_PROCESS}', 'other 1', ${expires})
           on conflict (process_id) do update set expires_at = excluded.expires_at;
           insert into engine_leases (tenant_id, process_id)
           values ('${tenant_id}', '${OTHER_PROCESS}')`,
        ),
      );
    const other = new EngineStatusStore({
      connection: tenants.connection,
      schema: 'tenancy',
      processId: OTHER_PROCESS,
    });
    const report = () => other.report(tenant_id);
    try {
      await expect(report()).resolves.toMatchObject({ state: 'unassigned' });
      await lease(`now() + interval '1 hour'`);
      await expect(report()).resolves.toMatchObject({
        state: 'starting',
        process: 'other 1',
        lease_expires_at: expect.any(String),
      });
      const note = { tenantId: tenant_id, reason: 'a\0b', lastError: 'a\0b' };
      await other.write([{ ...note, state: 'failed' }]);
      await expect(report()).resolves.toMatchObject({
        state: 'failed',
        reason: 'ab',
        last_error: 'ab',
        lag_seconds: null,
      });
      await lease(`now() - interval '1 second'`);
      const expired = await report();
      expect(expired).toMatchObject({ state: 'unassigned', last_error: 'ab' });
      expect([expired.reason, expired.process]).toEqual([null, null]);
    } finally {
      await other.close();
      await withClient(tenants.connection, client =>
        client.query(
          `delete from tenancy.engine_processes where process_id = '${OTHER_PROCESS}'`,
        ),
      );
    }
  });

  describe('of many engines', () => {
    let other: EngineStatusStore;
    let ids: string[];
    let schemas: string[];

    beforeEach(async () => {
      other = new EngineStatusStore({
        connection: tenants.connection,
        schema: 'tenancy',
      });
      ids = Array.from({ length: 120 }, () => randomUUID());
      schemas = ids.map(engineSchemaOf);
      await withClient(tenants.connection, async client => {
        for (const schema of schemas) {
          await client.query(
            `create schema ${schema};
             create table ${schema}.refresh_state (entity_ref text, errors text, next_update_at timestamptz);
             create table ${schema}.refresh_state_references (target_entity_ref text);
             create table ${schema}.stitch_queue (next_stitch_at timestamptz)`,
          );
        }
      });
    });
    afterEach(async () => {
      await other.close();
      await withClient(tenants.connection, async client => {
        for (const schema of schemas) {
          await client.query(`drop schema ${schema} cascade`);
        }
      });
    });

    it('locks the tables of few at a time, and reads those of a large one last', async () => {
      await withClient(tenants.connection, async client => {
        const [large, locked] = schemas;
        // Large, and read until the lock is free.
        await client.query(
          `drop table ${large}.refresh_state;
           create function ${large}.wait() returns table (entity_ref text, errors text, next_update_at timestamptz)
             language plpgsql as $$ begin perform pg_advisory_xact_lock_shared(4711); end $$;
           create view ${large}.refresh_state as select * from ${large}.wait();
           insert into ${large}.refresh_state_references values ('one');
           update pg_class set relpages = 1000 where oid = '${large}.refresh_state'::regclass;
           select pg_advisory_lock(4711)`,
        );
        await client.query(`begin; lock table ${locked}.refresh_state`);
        const reading = [other.readDue(ids), other.countSourceErrors(ids)];
        const locks = await waitUntil('a statement to wait', async () => {
          await client.query('select pg_stat_clear_snapshot()');
          const { rows } = await client.query(
            `select count(distinct c.relnamespace)::int as engines
               from pg_locks l join pg_class c on c.oid = l.relation
              where c.relnamespace = any ($1::regnamespace[])
                and l.pid in (select pid from pg_locks where not granted)
              group by l.pid`,
            [schemas],
          );
          return rows.length > 0 && rows;
        });
        expect(Math.max(...locks.map(({ engines }) => engines))).toBeLessThan(
          60,
        );
        const counts = [...(await reading[1]).values()];
        expect(counts.filter(count => count === 0)).toHaveLength(100);
        // Those that were not counted in time.
        expect(counts.filter(count => count === null)).toHaveLength(19);
        await client.query('rollback; select pg_advisory_unlock(4711)');
        const due = await reading[0];
        expect(ids.filter(each => !due.has(each))).toEqual([ids[1]]);
      });
    });

    it('says the state of each without a look at its tables', async () => {
      await withClient(tenants.connection, client =>
        client.query(
          `alter table ${schemas[0]}.refresh_state drop column next_update_at`,
        ),
      );
      const reports = await other.reports(ids);
      expect(reports.size).toBe(ids.length);
      await expect(other.readDue(ids)).rejects.toThrow('does not exist');
    });
  });

  it('is counted in metrics, whose number no tenant changes', async () => {
    await waitUntil('the first look', () =>
      metrics.collect().has('tenancy.engines.processes {}'),
    );
    const before = metrics.collect();
    expect(before.size).toBe(20);
    expect([...before.keys()].join()).not.toMatch(/acme|globex|[0-9a-f]{8}-/);
    for (const number of [1, 2, 3]) {
      const slug = `more-${number}`;
      await backend.tenants.create({ tenant_slug: slug, tenant_name: slug });
    }
    const running = 'tenancy.engines.count {"state":"running"}';
    await waitUntil(
      'their engines to run',
      () => metrics.collect().get(running)! >= before.get(running)! + 3,
    );
    expect([...metrics.collect().keys()]).toEqual([...before.keys()]);
  });

  it('of a paused engine: it ingests nothing and runs no task, after a restart too, and its routes go on', async () => {
    await call('put', 'globex/engine/pause').expect(204);
    const stopped = async () => {
      await eventually(() =>
        backend.as('globex').get('/locations').expect(200),
      );
      const work = works.of({
        tenantId: tenants.idOf('globex'),
        tenantSlug: 'globex',
      });
      await waitUntil('the pause', () => !work.mayBegin);
      // What is under way has its time; this begins no pause, and waits for its end.
      await work.finish();
      await eventually(async () =>
        expect((await statusOf('globex')).lag_seconds).toBeGreaterThan(0),
      );
      const titles = await titlesOf('globex');
      const ran = runs.get('globex');
      change('globex');
      for (let time = 1; time <= 2; time += 1) {
        const others = runs.get('acme')!;
        change('acme');
        await ingested('acme');
        await waitUntil('the task', () => runs.get('acme')! > others + 1);
      }
      expect(await titlesOf('globex')).toEqual(titles);
      expect(runs.get('globex')).toBe(ran);
      await backend.as('globex').get('/locations').expect(200);
      expect(await statusOf('globex')).toMatchObject({
        state: 'paused',
        paused_by: 'user:default/mock',
      });
    };
    await stopped();
    // What a paused engine is behind is meant to be, and no lag in the metrics.
    await eventually(async () => {
      const found = metrics.collect();
      expect(found.get('tenancy.engines.lagging {}')).toBe(0);
      expect(found.get('tenancy.engines.count {"state":"paused"}')).toBe(1);
    });
    await tenants.stop(backend);
    backend = await startBackend('all');
    await stopped();
    const ran = runs.get('globex')!;
    await call('delete', 'globex/engine/pause').expect(204);
    await ingested('globex');
    await waitUntil('the task', () => runs.get('globex')! > ran);
    await eventually(async () =>
      expect((await statusOf('globex')).lag_seconds).toBeLessThan(2),
    );
  });
});
