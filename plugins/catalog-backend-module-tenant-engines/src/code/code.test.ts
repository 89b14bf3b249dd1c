import type { CatalogBackend } from '@internal/catalog-testing/startCatalogBackend';
import { insertEntities } from '@internal/catalog-testing/insertEntities';
import { createTestDatabases, waitUntil } from '@internal/postgres/testUtils';
import type { Entity } from '@backstage/catalog-model';
import { engineSchemaOf } from 'backstage-catalog-tenancy-migrations';
import {
  DEFAULT_TENANT_ID,
  type ProvidedEntity,
  type TenantEngines,
  tenantEnginesServiceRef,
  type TenantMutation,
} from 'backstage-plugin-catalog-tenancy-node';
import { TenantsOfTest } from '../__testUtils__/TenantsOfTest';

const databases = createTestDatabases({ versions: 'newest' });

interface Process {
  backend: CatalogBackend;
  engines: TenantEngines;
}

function provided(name: string, more: Partial<Entity> = {}): ProvidedEntity {
  return {
    entity: {
      apiVersion: 'backstage.io/v1alpha1',
      kind: 'Component',
      metadata: { name },
      spec: { type: 'service', lifecycle: 'production', owner: 'team-a' },
      ...more,
    },
  };
}

describe.each(databases.eachSupportedId())('code on %s', id => {
  let tenants: TenantsOfTest;
  /** Does the background work of all tenants. */
  let worker: Process;
  /** Serves requests alone. */
  let web: Process;

  const start = async (role: 'all' | 'none'): Promise<Process> => {
    const { backend, services } = await tenants.start(
      { engines: tenantEnginesServiceRef },
      { role, sources: ['inventory'] },
    );
    return { backend, engines: services.engines };
  };

  beforeAll(async () => {
    tenants = await TenantsOfTest.create(databases, id, [
      'acme',
      'globex',
      'earlier',
    ]);
    // As an earlier version has written them, without an engine.
    await insertEntities(
      tenants.connection,
      tenants.idOf('earlier'),
      ['kept', 'replaced'].map(name => ({
        ...provided(name).entity,
        metadata: { name, title: 'before' },
      })),
    );
    worker = await start('all');
    web = await start('none');
  });

  afterAll(() => tenants.close());

  const handOver = async (
    mutation: TenantMutation,
    { engines } = worker,
    slug = 'acme',
  ) => {
    await engines.applyMutation(tenants.idOf(slug), mutation);
    await engines.served(tenants.idOf(slug), mutation);
  };

  const namesOf = async (slug: string): Promise<string[]> => {
    const { body } = await web.backend
      .as(slug)
      .get('/entities?filter=kind=component')
      .expect(200);
    return body.map(({ metadata }: Entity) => metadata.name).sort();
  };

  it('hands entities to the engine of one tenant, which processes them', async () => {
    await handOver({
      type: 'full',
      entities: [
        provided('a', {
          spec: { ...provided('a').entity.spec, dependsOn: ['component:b'] },
        }),
        provided('b'),
      ],
    });
    expect(await namesOf('acme')).toEqual(['a', 'b']);
    expect(await namesOf('globex')).toEqual([]);
    const { body } = await web.backend
      .as('acme')
      .get('/entities/by-name/component/default/b')
      .expect(200);
    expect(body.relations).toContainEqual({
      type: 'dependencyOf',
      targetRef: 'component:default/a',
    });
    expect(body.metadata.annotations).toMatchObject({
      'backstage.io/managed-by-location': 'code:code',
    });
  });

  it('replaces what its source had, adds and removes, and leaves other sources alone', async () => {
    await handOver({ type: 'full', entities: [provided('a'), provided('b')] });
    await handOver({
      type: 'full',
      source: 'inventory',
      entities: [provided('of-the-inventory')],
    });
    await handOver({ type: 'full', entities: [provided('b')] });
    expect(await namesOf('acme')).toEqual(['b', 'of-the-inventory']);
    await handOver({
      type: 'delta',
      added: [provided('c')],
      removed: [{ entityRef: 'component:default/b' }],
    });
    expect(await namesOf('acme')).toEqual(['c', 'of-the-inventory']);
  });

  it('hands over in a process without the lease, and what it changes is served by the other', async () => {
    for (const title of ['one', 'two']) {
      const changed = provided('by-web');
      changed.entity.metadata.title = title;
      await handOver(
        { type: 'delta', added: [changed], removed: [] },
        web,
        'globex',
      );
      const { body } = await worker.backend
        .as('globex')
        .get('/entities/by-name/component/default/by-web')
        .expect(200);
      expect(body.metadata.title).toBe(title);
    }
  });

  it('keeps what was written before, until the engine has it', async () => {
    const titles = async () => {
      const { body } = await web.backend
        .as('earlier')
        .get('/entities?filter=kind=component')
        .expect(200);
      return body.map(({ metadata }: Entity) => [
        metadata.name,
        metadata.title,
      ]);
    };
    expect((await titles()).sort()).toEqual([
      ['kept', 'before'],
      ['replaced', 'before'],
    ]);
    const replaced = provided('replaced');
    replaced.entity.metadata.title = 'after';
    await handOver({ type: 'full', entities: [replaced] }, worker, 'earlier');
    expect((await titles()).sort()).toEqual([
      ['kept', 'before'],
      ['replaced', 'after'],
    ]);
  });

  it('has taken the entities when it resolves, and all of a mutation or nothing', async () => {
    const stored = async () => {
      const { rows } = await tenants.client.query(
        `select entity_ref from "${engineSchemaOf(
          tenants.idOf('globex'),
        )}".refresh_state where entity_ref like '%/taken%' order by 1`,
      );
      return rows.map(({ entity_ref }) => entity_ref);
    };
    await expect(
      web.engines.applyMutation(tenants.idOf('globex'), {
        type: 'delta',
        added: [provided('taken-1'), provided('taken-2', { kind: '' })],
        removed: [],
      }),
    ).rejects.toMatchObject({ name: 'InputError' });
    expect(await stored()).toEqual([]);
    await web.engines.applyMutation(tenants.idOf('globex'), {
      type: 'delta',
      added: [provided('taken-1')],
      removed: [],
    });
    expect(await stored()).toEqual(['component:default/taken-1']);
  });

  it('waits for what is not served until a signal ends that', async () => {
    const invalid = provided('invalid', { spec: {} });
    const mutation: TenantMutation = {
      type: 'delta',
      added: [invalid],
      removed: [],
    };
    await worker.engines.applyMutation(tenants.idOf('acme'), mutation);
    const waiting = new AbortController();
    const served = worker.engines.served(tenants.idOf('acme'), mutation, {
      signal: waiting.signal,
    });
    await waitUntil('the error', async () => {
      const { rows } = await tenants.client.query(
        `select from "${engineSchemaOf(tenants.idOf('acme'))}".refresh_state
          where entity_ref = 'component:default/invalid' and errors like '[{%'`,
      );
      return rows.length === 1;
    });
    waiting.abort();
    await expect(served).rejects.toMatchObject({ name: 'AbortError' });

    // What cannot be read fails without what the driver quotes of it.
    await tenants.client.query(
      `update "${engineSchemaOf(tenants.idOf('acme'))}".refresh_state
          set errors = '[{quoted' where entity_ref = 'component:default/invalid'`,
    );
    await expect(web.engines.report(tenants.idOf('acme'))).rejects.toThrow(
      /^The status of the engine can't be read at the moment: the database refused a statement \(22P02\)$/,
    );
  });

  it('has an error at an entity that is too large, which is not stored, and serves the others', async () => {
    const large = provided('large');
    large.entity.metadata.title = 'x'.repeat(6_000_000);
    const small = provided('small');
    await worker.engines.applyMutation(tenants.idOf('earlier'), {
      type: 'delta',
      added: [large, small],
      removed: [],
    });
    await worker.engines.served(tenants.idOf('earlier'), {
      type: 'delta',
      added: [small],
      removed: [],
    });
    await waitUntil('the error', async () => {
      const { source_errors } = await web.engines.report(
        tenants.idOf('earlier'),
      );
      return source_errors!.some(
        ({ entity_ref, message }) =>
          entity_ref === 'component:default/large' &&
          /^The entity has 6,000,\d{3} bytes as JSON, more than 5,242,880, /.test(
            message,
          ),
      );
    });
    expect(await namesOf('earlier')).not.toContain('large');
    const { rows } = await tenants.client.query(
      `select max(length(unprocessed_entity)) as longest
         from "${engineSchemaOf(tenants.idOf('earlier'))}".refresh_state`,
    );
    expect(rows[0].longest).toBeLessThan(10_000);
  });

  it('keeps to max_entities', async () => {
    await tenants.client.query(
      `update tenancy.tenants set max_entities = 1 where tenant_id = $1`,
      [tenants.idOf('globex')],
    );
    await web.engines.applyMutation(tenants.idOf('globex'), {
      type: 'delta',
      added: [provided('x'), provided('y'), provided('z')],
      removed: [],
    });
    await waitUntil('the faults', async () => {
      const { faults } = await web.engines.report(tenants.idOf('globex'));
      return faults! >= 3;
    });
    for (const name of ['x', 'y', 'z']) {
      expect(await namesOf('globex')).not.toContain(name);
    }
  });

  it.each([
    [
      'the default tenant',
      DEFAULT_TENANT_ID,
      {},
      'ConflictError',
      'catalog plugin',
    ],
    [
      'a tenant that is not there',
      '7d0f4a51-4b5a-4d5e-8f0a-2d4e5f6a7b8c',
      {},
      'NotFoundError',
      'No active tenant',
    ],
    [
      'a source that the backend does not name',
      undefined,
      { source: 'other' },
      'InputError',
      `No source 'other'. Add it: tenantEngines({ sources: ['other'] })`,
    ],
  ])('is refused %s', async (_, tenantId, more, name, message) => {
    await expect(
      worker.engines.applyMutation(tenantId ?? tenants.idOf('acme'), {
        type: 'full',
        entities: [],
        ...more,
      }),
    ).rejects.toMatchObject({
      name,
      message: expect.stringContaining(message),
    });
  });
});
