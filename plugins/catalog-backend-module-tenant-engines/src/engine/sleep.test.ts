import {
  coreServices,
  createBackendModule,
} from '@backstage/backend-plugin-api';
import type { JsonObject } from '@backstage/types';
import type { CatalogBackend } from '@internal/catalog-testing/startCatalogBackend';
import { createTestDatabases, waitUntil } from '@internal/postgres/testUtils';
import { engineSchemaOf } from 'backstage-catalog-tenancy-migrations';
import {
  DEFAULT_TENANT_ID,
  tenantEnginesServiceRef,
  tenantEngineStoreServiceRef,
  tenantMemberStoreServiceRef,
  type TenantShareStore,
  tenantShareStoreServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TenantsOfTest } from '../__testUtils__/TenantsOfTest';

const SERVICES = {
  engines: tenantEnginesServiceRef,
  members: tenantMemberStoreServiceRef,
  shares: tenantShareStoreServiceRef,
  store: tenantEngineStoreServiceRef,
};

const databases = createTestDatabases({ versions: 'newest' });

describe.each(databases.eachSupportedId())('engines that sleep on %s', id => {
  let tenants: TenantsOfTest;

  beforeAll(async () => {
    tenants = await TenantsOfTest.create(databases, id, ['acme', 'globex']);
  });

  afterEach(() => tenants.stopAll());

  afterAll(() => tenants.close());

  const start = async (
    role: 'all' | 'none' = 'all',
    {
      config = {} as JsonObject,
      idleMs = 500,
      restless = false,
      sources = [] as string[],
    } = {},
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
    const { backend, services } = await tenants.start(SERVICES, {
      config,
      modules: [counting],
      role,
      sources,
      timing: {
        checkMs: 200,
        sweepMs: 200,
        quietMs: 200,
        lookMs: 100,
        ownMs: 300,
        // A process without the lease would stop one that starts slowly.
        ...(role === 'all' && { idleMs }),
      },
    });
    return { backend, services, starts };
  };

  const schemaOf = (slug: string) => `"${engineSchemaOf(tenants.idOf(slug))}"`;

  const isAsleep = async (slug: string) => {
    const { rows } = await tenants.client.query(
      'select wake_at > now() as is_asleep from tenancy.engine_status where tenant_id = $1',
      [tenants.idOf(slug)],
    );
    return rows[0]?.is_asleep === true;
  };
  const untilAsleep = async () => {
    for (const slug of tenants.slugs) {
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
    expect(services.engines!.statusOf(tenants.idOf('acme'))).toEqual({
      state: 'running',
    });
    await expect(
      services.engines!.report(tenants.idOf('acme')),
    ).resolves.toMatchObject({ state: 'running', lag_seconds: 0 });
    await backend.as('acme').get('/locations').expect(200);
    expect(starts).toHaveLength(3);
    expect(await isAsleep('acme')).toBe(false);
    await services.engines!.applyMutation(tenants.idOf('acme'), full('one'));
    await services.engines!.served(tenants.idOf('acme'), full('one'));
    await untilAsleep();
    await services.engines!.applyMutation(tenants.idOf('acme'), full('two'));
    await services.engines!.served(tenants.idOf('acme'), full('two'));
    expect(starts).toHaveLength(4);
    await untilAsleep();
    // Half of the processing interval, within which one start is enough for all items.
    const { rows } = await tenants.client.query(
      `select extract(epoch from wake_at - min)::int as slack
         from tenancy.engine_status,
              (select min(next_update_at) from ${schemaOf(
                'acme',
              )}.refresh_state) due
        where tenant_id = $1`,
      [tenants.idOf('acme')],
    );
    expect(rows[0].slack).toBeCloseTo(15 * 60, -1);
  });

  it('sleep on in a process that starts, until they are due', async () => {
    const { starts } = await start();
    await tenants.client.query(
      `update ${schemaOf('acme')}.refresh_state set next_update_at = now()`,
    );
    expect(starts).toEqual([]);
    // As the clock does.
    await tenants.client.query(
      `update tenancy.engine_status set wake_at = now() + interval '100 ms' where tenant_id = $1`,
      [tenants.idOf('acme')],
    );
    await waitUntil('the item to be processed', async () => {
      const { rows } = await tenants.client.query(
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
    await web.services.engines!.applyMutation(
      tenants.idOf('globex'),
      full('web'),
    );
    await web.services.engines!.served(tenants.idOf('globex'), full('web'));
    expect(worker.starts).toHaveLength(1);
    await untilAsleep();
    // Nobody hears of it.
    await tenants.stop(worker.backend);
    await web.services.engines!.applyMutation(
      tenants.idOf('globex'),
      full('two'),
    );
    const next = await start();
    await web.services.engines!.served(tenants.idOf('globex'), full('two'));
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
      const { rows } = await tenants.client.query(
        `select from tenancy.entities where tenant_id = $1 and entity_ref = 'user:default/anna'`,
        [tenants.idOf('globex')],
      );
      return rows.length === 1;
    });
    expect(starts).toHaveLength(2);
    await untilAsleep();
    await tenants.stopAll();

    await tenants.client.query(
      `update tenancy.tenant_engines set catalog_config = '{}' where tenant_id = $1`,
      [tenants.idOf('acme')],
    );
    const next = await start();
    await waitUntil('the start', () => next.starts.length === 1);
    await untilAsleep();
    await tenants.stopAll();
    const other = await start('all', { sources: ['inventory'] });
    await waitUntil('both starts', () => other.starts.length === 2);
  });

  it('start for what other tenants share with theirs, for its changes and its end, and for nothing else', async () => {
    const write = (backend: CatalogBackend, title: string) => {
      const { entity } = provided('shared');
      const { metadata } = entity;
      return backend.write(DEFAULT_TENANT_ID, {
        type: 'full',
        entities: [{ ...entity, metadata: { ...metadata, title } }],
      });
    };
    const share = ({ shares }: { shares: TenantShareStore }, slug: string) =>
      shares.create(
        'default',
        { targets: [slug], filter: ['metadata.name=shared'] },
        { by: 'test' },
      );
    /** In its rows: a request would start the engine. */
    const untilTitled = (slug: string, title?: string) =>
      waitUntil(`the copy of ${slug}`, async () => {
        const { rows } = await tenants.client.query(
          `select final_entity #>> '{metadata,title}' as title from tenancy.entities
            where tenant_id = $1 and entity_name = 'shared' and deleted_at is null`,
          [tenants.idOf(slug)],
        );
        return rows[0]?.title === title;
      });

    const first = await start();
    await untilAsleep();
    first.starts.length = 0;
    await write(first.backend, 'one');
    const { share_id } = await share(first.services, 'acme');
    await untilTitled('acme', 'one');
    await untilAsleep();
    await write(first.backend, 'two');
    await untilTitled('acme', 'two');
    await untilAsleep();
    expect(first.starts).toHaveLength(2);
    await tenants.stopAll();

    // Nobody has asked for anything.
    const next = await start('all', { idleMs: 600_000 });
    await share(next.services, 'globex');
    await untilTitled('globex', 'two');
    await untilAsleep();
    // That of acme has its copy.
    expect(next.starts).toHaveLength(1);
    await next.services.shares.delete('default', share_id);
    await untilTitled('acme', undefined);
    expect(next.starts).toHaveLength(2);
    await untilAsleep();
  });

  it('do not sleep where a module has scheduled a task', async () => {
    await tenants.client.query(
      `update tenancy.engine_status set wake_at = now()`,
    );
    const { backend, starts } = await start('all', { restless: true });
    const asleep = async () => {
      const found = [];
      for (const slug of tenants.slugs) {
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

  it('start again with another secret in a file, where they do not sleep', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'secrets-'));
    try {
      await mkdir(join(folder, 'acme'));
      await writeFile(join(folder, 'acme/token'), 'one');
      const { services, starts } = await start('all', {
        config: {
          tenancy: { engines: { keepRunning: true, secretsDirectory: folder } },
        },
      });
      await waitUntil('both', () => starts.length === 2);
      const token = { $file: 'token' };
      await services.store!.putConfig(
        'acme',
        { integrations: { gitlab: [{ host: 'gitlab.com', token }] } },
        { by: 'test' },
      );
      await waitUntil('the start with it', () => starts.length === 3);
      await waitUntil(
        'the engine',
        () =>
          services.engines!.statusOf(tenants.idOf('acme')).state === 'running',
      );
      await writeFile(join(folder, 'acme/token'), 'two');
      await waitUntil('the start with the other', () => starts.length > 3);
      expect(starts).toHaveLength(4);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
