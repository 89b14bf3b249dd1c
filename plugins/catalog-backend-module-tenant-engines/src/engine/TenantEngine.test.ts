import {
  type AuthService,
  coreServices,
  createBackendModule,
  type DatabaseService,
  type SchedulerService,
} from '@backstage/backend-plugin-api';
import { mockCredentials, mockServices } from '@backstage/backend-test-utils';
import { metricsServiceMock } from '@backstage/backend-test-utils/alpha';
import catalogPlugin from '@backstage/plugin-catalog-backend';
import { eventsServiceRef } from '@backstage/plugin-events-node';
import { createTestDatabases } from '@internal/postgres/testUtils';
import {
  type ActiveTenant,
  carriedTenant,
} from 'backstage-plugin-catalog-tenancy-node';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import type { Knex } from 'knex';
import { Client, type ClientConfig } from 'pg';
import { EnginePool, type SchemaDatabase } from '../work/EnginePool';
import { TenantEvents } from '../plugins/TenantEvents';
import { UPSTREAM } from '../tables/__testUtils__/EngineDatabase';
import { TablesSession } from '../tables/TablesSession';
import { migrateTenant } from '../tables/upstreamMigrations';
import { BackgroundWork } from '../work/BackgroundWork';
import { type EngineFeature, TenantEngine } from './TenantEngine';

const databases = createTestDatabases({ versions: 'newest' });

describe.each(databases.eachSupportedId())('an engine on %s', id => {
  let connection: ClientConfig;
  let client: Client;
  let pool: EnginePool;
  const engines: TenantEngine[] = [];

  beforeAll(async () => {
    connection = await databases.create(id);
    client = new Client(connection);
    await client.connect();
    const logger = mockServices.logger.mock();
    pool = new EnginePool({
      applicationName: 'engines',
      connection,
      max: 5,
      logger,
    });
  });

  afterEach(async () => {
    await Promise.all(engines.splice(0).map(engine => engine.stop()));
  });

  afterAll(async () => {
    await pool?.close();
    await client?.end();
  });

  const createSchema = async () => {
    const schema = `engine_${randomUUID().replaceAll('-', '')}`;
    await TablesSession.use(connection, session =>
      session.transaction(async () => {
        await session.query(`create schema ${schema}`);
        await migrateTenant(session, {
          schema,
          directory: UPSTREAM,
          title: 'the tables',
          warn: () => undefined,
        });
      }),
    );
    return schema;
  };

  const scheduled: { id: string; signal?: AbortSignal }[] = [];

  const start = async (options: {
    schema?: string;
    database?: SchemaDatabase;
    events?: TenantEvents;
    features?: EngineFeature[];
    signal?: AbortSignal;
    tenant?: ActiveTenant;
  }) => {
    const {
      schema = '',
      database = pool.forSchema(schema),
      events = new TenantEvents(),
      features = [],
      signal = new AbortController().signal,
      tenant = { tenantId: randomUUID(), tenantSlug: 'acme' },
    } = options;
    const work = new BackgroundWork({
      tenantSlug: tenant.tenantSlug,
      holdsLease: () => true,
    });
    work.open();
    const engine = await TenantEngine.start({
      tenant,
      config: mockServices.rootConfig({
        data: {
          backend: { baseUrl: 'http://localhost', listen: '0' },
          events: { useEventBus: 'never' },
        },
      }),
      database,
      events,
      features: [catalogPlugin, ...features],
      logger: mockServices.rootLogger(),
      services: {
        auditor: mockServices.auditor.mock(),
        auth: mockServices.auth(),
        cache: mockServices.cache.mock(),
        discovery: mockServices.discovery(),
        httpAuth: mockServices.httpAuth(),
        logger: mockServices.rootLogger(),
        metrics: metricsServiceMock.mock(),
        permissions: mockServices.permissions(),
        scheduler: mockServices.scheduler.mock({
          scheduleTask: async ({ id: taskId, signal: ofTask }) => {
            scheduled.push({ id: taskId, signal: ofTask });
          },
        }),
        userInfo: mockServices.userInfo(),
      },
      signal,
      work,
    });
    engines.push(engine);
    return engine;
  };

  /** A module that does something when it starts, with the services of the engine. */
  const moduleWith = (
    work: (services: {
      auth: AuthService;
      database: DatabaseService;
      scheduler: SchedulerService;
    }) => Promise<void>,
  ) =>
    createBackendModule({
      pluginId: 'catalog',
      moduleId: 'of-the-test',
      register(env) {
        env.registerInit({
          deps: {
            auth: coreServices.auth,
            database: coreServices.database,
            scheduler: coreServices.scheduler,
          },
          init: work,
        });
      },
    });

  it('calls other plugins for its tenant, with whatever credentials', async () => {
    const tenant = { tenantId: randomUUID(), tenantSlug: 'globex' };
    let carried: (ActiveTenant | undefined)[] = [];
    await start({
      schema: await createSchema(),
      tenant,
      features: [
        moduleWith(async ({ auth }) => {
          carried = [carriedTenant(await auth.getOwnServiceCredentials())];
        }),
      ],
    });
    expect(carried).toEqual([tenant]);
  });

  it('ends its tasks and its access to the database when it stops', async () => {
    const tenant = { tenantId: randomUUID(), tenantSlug: 'globex' };
    let kept: Knex | undefined;
    const engine = await start({
      schema: await createSchema(),
      tenant,
      features: [
        moduleWith(async ({ database, scheduler }) => {
          kept = await database.getClient();
          await scheduler.scheduleTask({
            id: 'of-the-test',
            frequency: { hours: 1 },
            timeout: { hours: 1 },
            fn: async () => undefined,
          });
        }),
      ],
    });
    const task = scheduled.find(
      ({ id: taskId }) => taskId === `tenant:${tenant.tenantId}:of-the-test`,
    );
    expect(task?.signal?.aborted).toBe(false);
    await expect(kept!('refresh_state').select()).resolves.toEqual([]);
    await engine.stop();
    expect(task?.signal?.aborted).toBe(true);
    await expect(kept!('refresh_state').select()).rejects.toThrow(
      'The engine has been stopped',
    );
  });

  it('closes its WebSockets when it stops', async () => {
    const engine = await start({
      schema: await createSchema(),
      features: [
        createBackendModule({
          pluginId: 'catalog',
          moduleId: 'with-a-web-socket',
          register(env) {
            env.registerInit({
              deps: { httpRouter: coreServices.httpRouter },
              init: async ({ httpRouter }) =>
                httpRouter.addWebSocketHandler({
                  path: '/events',
                  handler: () => undefined,
                }),
            });
          },
        }),
      ],
    });
    const open = async () => {
      const socket = new PassThrough();
      await engine.upgradeAt('/events')?.({
        credentials: mockCredentials.user(),
        head: Buffer.alloc(0),
        request: new IncomingMessage(new Socket()),
        socket,
      });
      return socket;
    };
    const [closed, socket] = [await open(), await open()];
    await once(closed.destroy(), 'close');
    expect(engine.hasSockets).toBe(true);
    await engine.stop();
    expect(socket.destroyed).toBe(true);
    await expect(open()).rejects.toThrow('aborted');
    expect(engine.upgradeAt('/others')).toBeUndefined();
  });

  it('closes its database where its start was given up before it began', async () => {
    const database = { ...pool.forSchema('x'), close: jest.fn() };
    await expect(
      start({ database, signal: AbortSignal.abort(new Error('Too late')) }),
    ).rejects.toThrow('Too late');
    expect(database.close).toHaveBeenCalled();
  });

  it('gives up a module that never starts, and keeps it from the database', async () => {
    let kept: Knex | undefined;
    const giveUp = new AbortController();
    await expect(
      start({
        schema: await createSchema(),
        signal: giveUp.signal,
        features: [
          moduleWith(async ({ database }) => {
            kept = await database.getClient();
            giveUp.abort(new Error('Too late'));
            await new Promise(() => undefined);
          }),
        ],
      }),
    ).rejects.toThrow('Too late');
    await expect(kept!('refresh_state').select()).rejects.toThrow(
      'The engine has been stopped',
    );
  });

  it('no longer hears events of its tenant where its start was given up', async () => {
    const tenant = { tenantId: randomUUID(), tenantSlug: 'globex' };
    const schema = await createSchema();
    const events = new TenantEvents();
    const heard: string[] = [];
    const giveUp = new AbortController();
    let publish = async () => {};
    const hears = (name: string, goOn = () => Promise.resolve()) =>
      createBackendModule({
        pluginId: 'catalog',
        moduleId: 'of-the-test',
        register(env) {
          env.registerInit({
            deps: { bus: eventsServiceRef },
            async init({ bus }) {
              await bus.subscribe({
                id: 'of-the-test',
                topics: ['of-the-test'],
                onEvent: async () => {
                  heard.push(name);
                },
              });
              publish = () =>
                bus.publish({ topic: 'of-the-test', eventPayload: {} });
              await goOn();
            },
          });
        },
      });
    const first = hears('the first', () => {
      giveUp.abort(new Error('Too late'));
      return new Promise(() => undefined);
    });
    await expect(
      start({
        events,
        features: [first],
        schema,
        signal: giveUp.signal,
        tenant,
      }),
    ).rejects.toThrow('Too late');
    const second = hears('the second');
    const engine = await start({ events, features: [second], schema, tenant });
    await publish();
    expect(heard).toEqual(['the second']);
    await engine.stop();
    await publish();
    expect(heard).toEqual(['the second']);
  });
});
