import {
  coreServices,
  createBackendModule,
  resolvePackagePath,
  type SchedulerServiceTaskInvocationDefinition,
} from '@backstage/backend-plugin-api';
import { mockServices } from '@backstage/backend-test-utils';
import { metricsServiceMock } from '@backstage/backend-test-utils/alpha';
import catalogPlugin from '@backstage/plugin-catalog-backend';
import {
  catalogProcessingExtensionPoint,
  type EntityProviderConnection,
} from '@backstage/plugin-catalog-node';
import { createTestDatabases, waitUntil } from '@internal/postgres/testUtils';
import { engineSchemaOf } from 'backstage-catalog-tenancy-migrations';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Client, type ClientConfig } from 'pg';
import { TenantEngine } from '../engine/TenantEngine';
import { EnginePool } from './EnginePool';
import { BackgroundWork } from './BackgroundWork';
import { SleepingEngines } from './SleepingEngines';

const databases = createTestDatabases({ versions: 'newest' });

describe.each(databases.eachSupportedId())('an idle engine on %s', id => {
  const tenant = { tenantId: randomUUID(), tenantSlug: 'acme' };
  const schema = engineSchemaOf(tenant.tenantId);
  const tasks: SchedulerServiceTaskInvocationDefinition[] = [];
  const onIdle = jest.fn();
  let connection: ClientConfig;
  let client: Client;
  let pool: EnginePool;
  let sleeping: SleepingEngines;
  let engine: TenantEngine;
  let provider: EntityProviderConnection;

  beforeAll(async () => {
    connection = await databases.create(id);
    client = new Client(connection);
    await client.connect();
    await client.query(`create schema "${schema}"`);
    const logger = mockServices.rootLogger();
    pool = EnginePool.create({ connection, max: 5, logger });
    await pool.forSchema(schema).knex.migrate.latest({
      directory: resolvePackagePath(
        '@backstage/plugin-catalog-backend',
        'migrations',
      ),
    });
    sleeping = new SleepingEngines(pool);
    const work = new BackgroundWork({ ...tenant, holdsLease: () => true });
    work.open();
    engine = await TenantEngine.start({
      tenant,
      work,
      config: mockServices.rootConfig({
        data: {
          backend: { baseUrl: 'http://localhost', listen: '0' },
          events: { useEventBus: 'never' },
          catalog: { processingInterval: { hours: 1 } },
        },
      }),
      database: sleeping.open({ tenantId: tenant.tenantId, work, onIdle }),
      features: [
        catalogPlugin,
        createBackendModule({
          pluginId: 'catalog',
          moduleId: 'of-the-test',
          register(env) {
            env.registerInit({
              deps: {
                catalog: catalogProcessingExtensionPoint,
                scheduler: coreServices.scheduler,
              },
              async init({ catalog }) {
                catalog.addEntityProvider({
                  getProviderName: () => 'of-the-test',
                  async connect(given) {
                    provider = given;
                  },
                });
              },
            });
          },
        }),
      ],
      logger,
      services: {
        auditor: mockServices.auditor.mock(),
        auth: mockServices.auth(),
        cache: mockServices.cache.mock(),
        discovery: mockServices.discovery(),
        httpAuth: mockServices.httpAuth(),
        logger,
        metrics: metricsServiceMock.mock(),
        permissions: mockServices.permissions(),
        scheduler: mockServices.scheduler.mock({
          scheduleTask: async task => {
            tasks.push(task);
          },
        }),
        userInfo: mockServices.userInfo(),
      },
      signal: new AbortController().signal,
    });
  });

  const untilIdle = async () => {
    onIdle.mockClear();
    sleeping.wake(tenant.tenantId);
    await waitUntil('the engine to be idle', () => onIdle.mock.calls.length);
  };

  /** The last statement of each session but the test's. */
  const lastStatements = async () => {
    const { rows } = await client.query(
      `select pid, query_start, query from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()
          and backend_type = 'client backend' order by 1`,
    );
    return rows;
  };

  const provide = (name: string) =>
    provider.applyMutation({
      type: 'full',
      entities: [
        {
          entity: {
            apiVersion: 'backstage.io/v1alpha1',
            kind: 'Component',
            metadata: {
              name,
              annotations: {
                'backstage.io/managed-by-location': 'url:http://acme.test/',
                'backstage.io/managed-by-origin-location':
                  'url:http://acme.test/',
              },
            },
            spec: { type: 'service', lifecycle: 'live', owner: 'team' },
          },
        },
      ],
    });

  const untilServed = (name: string) =>
    waitUntil(`the entity ${name}`, async () => {
      const { rowCount } = await client.query(
        `select from "${schema}".final_entities where entity_ref = $1 and final_entity is not null`,
        [`component:default/${name}`],
      );
      return rowCount === 1;
    });

  /** How many items are due within a minute: a claimed one is after the processing interval. */
  const dueSoon = async () => {
    const { rowCount } = await client.query(
      `select from "${schema}".refresh_state where next_update_at < now() + interval '1 minute'`,
    );
    return rowCount;
  };

  const untilProcessed = () =>
    waitUntil('all items to be processed', async () => (await dueSoon()) === 0);

  beforeEach(async () => {
    await untilIdle();
  });

  afterAll(async () => {
    await engine?.stop();
    await pool?.close();
    await client?.end();
  });

  it('sends nothing to PostgreSQL', async () => {
    const before = await lastStatements();
    // Upstream polls twice in a second.
    await delay(2_500);
    expect(await lastStatements()).toEqual(before);
  });

  it('looks for orphans by a timer of its own, half a minute after a change', async () => {
    await provide('with-orphans');
    await untilServed('with-orphans');
    await client.query(`delete from "${schema}".refresh_state_references`);
    await waitUntil('the orphan to be deleted', async () => {
      const { rowCount } = await client.query(
        `select from "${schema}".refresh_state`,
      );
      return rowCount === 0;
    });
    expect(tasks).toEqual([]);
    // For longer than it takes until the next look.
    await waitUntil(
      'half a minute without a statement',
      () => sleeping.dueInMs(tenant.tenantId, 35_000) !== undefined,
    );
  });

  it('works as soon as a provider has a change', async () => {
    await provide('of-a-provider');
    await untilServed('of-a-provider');
    expect(await dueSoon()).toBe(0);
  });

  it('works when an item becomes due', async () => {
    await provide('due-later');
    await untilServed('due-later');
    await untilIdle();
    await client.query(
      `update "${schema}".refresh_state set next_update_at = now() + interval '1 s'`,
    );
    // The next time that it falls asleep, it reads that.
    await untilIdle();
    await untilProcessed();
    expect(await dueSoon()).toBe(0);
  });

  it('works on what was made due by others, once it is looked for', async () => {
    await provide('due-by-hand');
    await untilServed('due-by-hand');
    await untilIdle();
    await client.query(
      `update "${schema}".refresh_state set next_update_at = now()`,
    );
    await sleeping.wakeDue();
    await untilProcessed();
    await untilIdle();
    await client.query(
      `insert into "${schema}".stitch_queue (entity_ref, stitch_ticket, next_stitch_at)
       values ('component:default/due-by-hand', 'by hand', now())`,
    );
    await sleeping.wakeDue();
    await waitUntil('the stitching', async () => {
      const { rowCount } = await client.query(
        `select from "${schema}".stitch_queue`,
      );
      return rowCount === 0;
    });
    expect(await dueSoon()).toBe(0);
  });
});
