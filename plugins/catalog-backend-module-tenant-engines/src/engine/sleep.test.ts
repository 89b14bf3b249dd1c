import {
  coreServices,
  createBackendModule,
} from '@backstage/backend-plugin-api';
import {
  type CatalogBackend,
  startCatalogBackend,
} from '@internal/catalog-testing/startCatalogBackend';
import { takeServices } from '@internal/catalog-testing/takeServices';
import { createTenancyDatabase } from '@internal/catalog-testing/tenancyDatabase';
import { createTestDatabases, waitUntil } from '@internal/postgres/testUtils';
import { engineSchemaOf } from 'backstage-catalog-tenancy-migrations';
import {
  tenantEnginesServiceRef,
  tenantEngineStoreServiceRef,
  tenantMemberStoreServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';
import { Client, type ClientConfig } from 'pg';
import {
  catalogModuleTenantEngines,
  enginesServiceFactory,
  tenantEnginesServiceFactory,
} from '../module';

const databases = createTestDatabases({ versions: 'newest' });

describe.each(databases.eachSupportedId())('engines that sleep on %s', id => {
  let connection: ClientConfig;
  let client: Client;
  const running: CatalogBackend[] = [];
  const ids = new Map<string, string>();

  beforeAll(async () => {
    connection = await createTenancyDatabase(databases, id);
    client = new Client(connection);
    await client.connect();
    const { rows } = await client.query(
      `insert into tenancy.tenants (tenant_slug, tenant_name)
       values ('acme', 'Acme'), ('globex', 'Globex') returning tenant_slug, tenant_id`,
    );
    rows.forEach(row => ids.set(row.tenant_slug, row.tenant_id));
  });

  afterEach(async () => {
    await Promise.all(running.splice(0).map(backend => backend.stop()));
  });

  afterAll(async () => {
    await client?.end();
  });

  const start = async (
    role: 'all' | 'none' = 'all',
    { restless = false } = {},
  ) => {
    /** One for each start of an engine. */
    const starts: string[] = [];
    const counting = createBackendModule({
      pluginId: 'catalog',
      moduleId: 'counting',
      register(env) {
        env.registerInit({
          deps: { scheduler: coreServices.scheduler },
          async init({ scheduler }) {
            starts.push('one');
            if (restless && starts.length === 1) {
              await scheduler.scheduleTask({
                id: 'of-the-test',
                frequency: { hours: 1 },
                timeout: { minutes: 1 },
                fn: async () => undefined,
              });
            }
          },
        });
      },
    });
    const { feature, services } = takeServices({
      engines: tenantEnginesServiceRef,
      members: tenantMemberStoreServiceRef,
      store: tenantEngineStoreServiceRef,
    });
    const backend = await startCatalogBackend({
      connection,
      enabled: true,
      config: {
        catalog: {
          stitchingStrategy: { pollingInterval: { milliseconds: 100 } },
        },
        events: { useEventBus: 'never' },
        tenancy: { engines: { role } },
      },
      features: [
        enginesServiceFactory,
        tenantEnginesServiceFactory,
        catalogModuleTenantEngines([counting], {
          checkMs: 200,
          quietMs: 200,
          // A process without the lease would stop one that starts slowly.
          ...(role === 'all' && { idleMs: 500 }),
        }),
        feature,
      ],
    });
    running.push(backend);
    return { backend, services, starts };
  };

  const schemaOf = (slug: string) => `"${engineSchemaOf(ids.get(slug)!)}"`;

  const isAsleep = async (slug: string) => {
    const { rows } = await client.query(
      'select wake_at > now() as is_asleep from tenancy.engine_status where tenant_id = $1',
      [ids.get(slug)],
    );
    return rows[0]?.is_asleep === true;
  };
  const untilAsleep = async () => {
    for (const slug of ids.keys()) {
      await waitUntil(`the engine of ${slug} to sleep`, () => isAsleep(slug));
    }
  };

  const provided = (name: string) => ({
    entity: {
      apiVersion: 'backstage.io/v1alpha1',
      kind: 'Component',
      metadata: { name },
      spec: { type: 'service', lifecycle: 'production', owner: 'team-a' },
    },
  });
  const full = (...names: string[]) => ({
    type: 'full' as const,
    entities: names.map(provided),
  });

  it('are stopped, and started by a request, without a trace of the time between', async () => {
    const { backend, services, starts } = await start();
    await untilAsleep();
    expect(starts).toHaveLength(2);
    expect(services.engines!.statusOf(ids.get('acme')!)).toEqual({
      state: 'running',
    });
    await expect(
      services.engines!.report(ids.get('acme')!),
    ).resolves.toMatchObject({ state: 'running', lagSeconds: 0 });
    await backend.as('acme').get('/locations').expect(200);
    expect(starts).toHaveLength(3);
    expect(await isAsleep('acme')).toBe(false);
    await services.engines!.applyMutation(ids.get('acme')!, full('one'));
    await services.engines!.served(ids.get('acme')!, full('one'));
    await untilAsleep();
    await services.engines!.applyMutation(ids.get('acme')!, full('two'));
    await services.engines!.served(ids.get('acme')!, full('two'));
    expect(starts).toHaveLength(4);
    await untilAsleep();
    // Half of the processing interval, within which one start is enough for all items.
    const { rows } = await client.query(
      `select extract(epoch from wake_at - min)::int as slack
         from tenancy.engine_status,
              (select min(next_update_at) from ${schemaOf(
                'acme',
              )}.refresh_state) due
        where tenant_id = $1`,
      [ids.get('acme')],
    );
    expect(rows[0].slack).toBeCloseTo(15 * 60, -1);
  });

  it('sleep on in a process that starts, until they are due', async () => {
    const { starts } = await start();
    await client.query(
      `update ${schemaOf('acme')}.refresh_state set next_update_at = now()`,
    );
    expect(starts).toEqual([]);
    // As the clock does.
    await client.query(
      `update tenancy.engine_status set wake_at = now() + interval '100 ms' where tenant_id = $1`,
      [ids.get('acme')],
    );
    await waitUntil('the item to be processed', async () => {
      const { rows } = await client.query(
        `select from ${schemaOf(
          'acme',
        )}.refresh_state where next_update_at <= now()`,
      );
      return rows.length === 0;
    });
    expect(starts).toHaveLength(1);
    await untilAsleep();
  });

  it('work for a request that another process has answered', async () => {
    const worker = await start();
    const web = await start('none');
    await untilAsleep();
    await web.services.engines!.applyMutation(ids.get('globex')!, full('web'));
    await web.services.engines!.served(ids.get('globex')!, full('web'));
    expect(worker.starts).toHaveLength(1);
    await untilAsleep();
    // Nobody hears of it.
    await worker.backend.stop();
    running.splice(running.indexOf(worker.backend), 1);
    await web.services.engines!.applyMutation(ids.get('globex')!, full('two'));
    const next = await start();
    await web.services.engines!.served(ids.get('globex')!, full('two'));
    expect(next.starts).toHaveLength(1);
    await untilAsleep();
  });

  it('start when their configuration, a member, or what all run with has changed', async () => {
    const { services, starts } = await start();
    await untilAsleep();
    await services.store!.putConfig(
      'acme',
      { catalog: { rules: [{ allow: ['Component'] }] } },
      { by: 'test' },
    );
    await waitUntil('the start', () => starts.length === 1);
    await untilAsleep();
    await services.members!.put(
      'globex',
      { principal: 'user:default/anna', role: 'member' },
      { by: 'test' },
    );
    await waitUntil('the entity of the member', async () => {
      const { rows } = await client.query(
        `select from tenancy.entities where tenant_id = $1 and entity_ref = 'user:default/anna'`,
        [ids.get('globex')],
      );
      return rows.length === 1;
    });
    expect(starts).toHaveLength(2);
    await untilAsleep();
    await running.pop()!.stop();

    await client.query(
      `update tenancy.tenant_engines set catalog_config = '{}' where tenant_id = $1`,
      [ids.get('acme')],
    );
    const next = await start();
    await waitUntil('the start', () => next.starts.length === 1);
    await untilAsleep();
    await running.pop()!.stop();
    await client.query(
      `update tenancy.engine_status set slept_with = 'another release'`,
    );
    const other = await start();
    await waitUntil('both starts', () => other.starts.length === 2);
  });

  it('do not sleep where a module has scheduled a task', async () => {
    await client.query(`update tenancy.engine_status set wake_at = now()`);
    const { backend, starts } = await start('all', { restless: true });
    const asleep = async () => {
      const found = [];
      for (const slug of ids.keys()) {
        if (await isAsleep(slug)) {
          found.push(slug);
        }
      }
      return found;
    };
    await waitUntil('one to sleep', async () => (await asleep()).length > 0);
    const [slug, ...others] = await asleep();
    expect(others).toEqual([]);
    await backend.as(slug).get('/locations').expect(200);
    expect(starts).toHaveLength(3);
    await waitUntil('it to sleep again', () => isAsleep(slug));
    expect(await asleep()).toEqual([slug]);
  });
});
