import type { CatalogBackend } from '@internal/catalog-testing/startCatalogBackend';
import {
  createTestDatabases,
  eventually,
  waitUntil,
} from '@internal/postgres/testUtils';
import type { Entity } from '@backstage/catalog-model';
import {
  ANNOTATION_SHARE,
  ANNOTATION_SHARED_FROM,
  DEFAULT_TENANT_ID,
  type TenantEngines,
  tenantEnginesServiceRef,
  type TenantShareStore,
  tenantShareStoreServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';
import { engineSchemaOf } from 'backstage-catalog-tenancy-migrations';
import type { Client } from 'pg';
import { TenantsOfTest } from '../__testUtils__/TenantsOfTest';
import { enginesServiceRef } from '../module';
import type { WorkByTenant } from '../work/WorkByTenant';
import { SHARES_SOURCE } from './copies';

const databases = createTestDatabases({ versions: 'newest' });

const TENANTS = ['acme', 'globex', 'initech', 'umbrella'];

function entity(
  kind: string,
  name: string,
  spec: Entity['spec'] = {},
  annotations: Record<string, string> = {},
): Entity {
  const required: Record<string, Entity['spec']> = {
    Component: { type: 'service', lifecycle: 'production', owner: 'team' },
    API: {
      type: 'grpc',
      lifecycle: 'production',
      owner: 'team',
      definition: '-',
    },
    Group: { type: 'team', children: [] },
    Location: { type: 'url', targets: [] },
  };
  return {
    apiVersion: 'backstage.io/v1alpha1',
    kind,
    metadata: { name, annotations },
    spec: { ...required[kind], ...spec },
  };
}

describe.each(databases.eachSupportedId())('what tenants share on %s', id => {
  let tenants: TenantsOfTest;
  let client: Client;
  let backend: CatalogBackend;
  let engines: TenantEngines;
  let shares: TenantShareStore;
  let works: WorkByTenant;

  const start = async () => {
    const started = await tenants.start(
      {
        engines: tenantEnginesServiceRef,
        own: enginesServiceRef,
        shares: tenantShareStoreServiceRef,
      },
      { timing: { lookMs: 100, ownMs: 300 } },
    );
    backend = started.backend;
    ({ engines, shares } = started.services);
    ({ works } = started.services.own);
  };

  beforeAll(async () => {
    tenants = await TenantsOfTest.create(databases, id, TENANTS);
    client = tenants.client;
    await client.query('set search_path to tenancy');
    await start();
  });

  afterAll(() => tenants.close());

  /** Its engine may still start. */
  const feed = (slug: string, ...entities: Entity[]) =>
    eventually(() =>
      engines.applyMutation(tenants.idOf(slug), {
        type: 'full',
        entities: entities.map(each => ({ entity: each, locationKey: 'own' })),
      }),
    );
  const share = (
    from: string,
    targets: 'all' | string[],
    ...filter: string[]
  ) => shares.create(from, { targets, filter }, { by: 'test' });
  const entitiesOf = async (slug: string): Promise<Entity[]> => {
    const { rows } = await client.query(
      `select final_entity from entities where tenant_id = $1 and deleted_at is null
        order by entity_ref collate "C"`,
      [tenants.idOf(slug)],
    );
    return rows.map(row => row.final_entity);
  };
  const describeEntity = ({ kind, metadata }: Entity) => {
    const from = metadata.annotations?.[ANNOTATION_SHARED_FROM];
    return `${kind} ${metadata.name}${from ? ` of ${from}` : ''}`;
  };
  const namesOf = async (slug: string) =>
    (await entitiesOf(slug)).map(describeEntity);
  /** By tenant, those without an entity left out. */
  const everything = async () => {
    const all: Record<string, string[]> = {};
    for (const slug of TENANTS) {
      const names = await namesOf(slug);
      if (names.length > 0) {
        all[slug] = names;
      }
    }
    return all;
  };
  const eventuallyHas = (slug: string, ...names: string[]) =>
    eventually(async () => {
      expect(await namesOf(slug)).toEqual(names);
    });

  const madeBy = (slug: string, name: string): Entity => {
    const { metadata, ...rest } = entity('API', name);
    const description = `made-by-${slug}-${name}`;
    return { ...rest, metadata: { ...metadata, description } };
  };
  /** The APIs that any row of a tenant names, and who has made them, but for deleted rows. */
  const tracesIn = async (slug: string): Promise<string[]> => {
    const tenantId = tenants.idOf(slug);
    const { rows: tables } = await client.query(
      `select c.oid::regclass::text as name, n.nspname = 'tenancy' as "isShared",
              c.relname = 'entities' as "hasDeleted"
         from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where c.relkind in ('r', 'p') and not c.relispartition
          and (n.nspname = $1 or n.nspname = 'tenancy' and exists (
            select from pg_attribute a
             where a.attrelid = c.oid and a.attname = 'tenant_id'))`,
      [engineSchemaOf(tenantId)],
    );
    const traces = new Set<string>();
    for (const { name, isShared, hasDeleted } of tables) {
      const { rows } = await client.query(
        `select distinct m[1] as trace
           from ${name} t, regexp_matches(t::text, '(api:default/[a-f]|made-by-[a-z]+-[a-f])', 'g') m
          where ${isShared ? `tenant_id = '${tenantId}'` : 'true'}
            and ${hasDeleted ? 'deleted_at is null' : 'true'}`,
      );
      rows.forEach(({ trace }) => traces.add(trace));
    }
    return [...traces].sort();
  };

  afterEach(async () => {
    for (const slug of TENANTS) {
      for (const { share_id } of (await shares.list(slug)).shares) {
        await shares.delete(slug, share_id);
      }
      await feed(slug);
    }
    await waitUntil(
      'nobody has an entity',
      async () => Object.keys(await everything()).length === 0,
    );
  });

  /** How many entities `api:default/a` the engine of a tenant has. */
  const handedOver = async (slug: string) => {
    const { rows } = await client.query(
      `select from ${engineSchemaOf(tenants.idOf(slug))}.refresh_state
        where entity_ref = 'api:default/a'`,
    );
    return rows.length;
  };

  it('reaches the tenants that are named, and nobody else', async () => {
    await feed('acme', entity('Component', 'a'), entity('API', 'b'));
    const { share_id } = await share('acme', ['globex'], 'kind=api');
    await eventuallyHas('globex', 'API b of acme');
    await expect(everything()).resolves.toEqual({
      acme: ['API b', 'Component a'],
      globex: ['API b of acme'],
    });
    const [copy] = await entitiesOf('globex');
    expect(copy.metadata.annotations).toMatchObject({
      [ANNOTATION_SHARE]: share_id,
      [ANNOTATION_SHARED_FROM]: 'acme',
    });
    await eventually(async () => {
      await expect(shares.list('acme')).resolves.toMatchObject({
        shares: [{ targets: ['globex'], copies: 1, conflicts: 0 }],
        received: [],
      });
    });
    await expect(shares.list('globex')).resolves.toEqual({
      shares: [],
      received: [{ share_id, tenant_slug: 'acme', copies: 1, conflicts: 0 }],
    });
  });

  it('follows changes of the source, of the share and of its end', async () => {
    const changed = (description: string) => ({
      ...entity('API', 'b'),
      metadata: { name: 'b', description },
    });
    await feed('acme', changed('one'), entity('API', 'c'));
    const { share_id } = await share('acme', 'all', 'kind=api');
    await eventuallyHas('initech', 'API b of acme', 'API c of acme');
    await feed('acme', changed('two'));
    for (const slug of ['globex', 'initech', 'umbrella']) {
      await eventually(async () => {
        await expect(entitiesOf(slug)).resolves.toMatchObject([
          { metadata: { name: 'b', description: 'two' } },
        ]);
      });
    }
    await shares.update('acme', share_id, { targets: ['globex'] });
    await eventuallyHas('initech');
    await eventuallyHas('globex', 'API b of acme');
    await shares.update('acme', share_id, { filter: ['kind=component'] });
    await eventuallyHas('globex');
  });

  it('names no entity that the tenant does not get, and has its owner only with that', async () => {
    await feed(
      'acme',
      entity('Group', 'team'),
      entity('API', 'api'),
      entity(
        'Component',
        'a',
        {
          dependsOn: ['component:secret', 'component:b'],
          providesApis: ['api', 'hidden'],
          system: 'hidden',
        },
        {
          'backstage.io/edit-url': 'https://git.example.com/hidden',
          'backstage.io/techdocs-entity': 'component:default/hidden',
          'backstage.io/techdocs-ref': 'dir:hidden',
        },
      ),
      entity('Component', 'b', { owner: 'group:default/hidden' }),
    );
    const { share_id } = await share('acme', ['globex'], 'kind=component');
    await eventuallyHas('globex', 'Component a of acme', 'Component b of acme');
    expect(JSON.stringify(await entitiesOf('globex'))).not.toMatch(
      /secret|hidden|team/,
    );
    await shares.update('acme', share_id, {
      filter: ['kind=component', 'kind=group', 'kind=api'],
      owner: 'group:default/platform',
    });
    await eventually(async () => {
      await expect(entitiesOf('globex')).resolves.toMatchObject([
        { metadata: { name: 'api' }, spec: { owner: 'team' } },
        {
          metadata: { name: 'a' },
          spec: {
            owner: 'team',
            dependsOn: ['component:b'],
            providesApis: ['api'],
          },
        },
        {
          metadata: { name: 'b' },
          spec: { owner: 'group:default/platform' },
        },
        { metadata: { name: 'team' } },
      ]);
    });
  });

  it('gives way to what the tenant has itself under the same ref, whichever comes first', async () => {
    await feed('globex', entity('API', 'own-first'));
    await eventuallyHas('globex', 'API own-first');
    await feed('acme', entity('API', 'own-first'), entity('API', 'own-later'));
    await share('acme', ['globex'], 'kind=api');
    await eventuallyHas('globex', 'API own-first', 'API own-later of acme');
    await feed(
      'globex',
      entity('API', 'own-first'),
      entity('API', 'own-later'),
    );
    await eventuallyHas('globex', 'API own-first', 'API own-later');
    await eventually(async () => {
      await expect(shares.list('globex')).resolves.toMatchObject({
        received: [{ copies: 0, conflicts: 2 }],
      });
    });
    await feed('globex');
    await eventuallyHas(
      'globex',
      'API own-first of acme',
      'API own-later of acme',
    );
  });

  it('gives way to what the tenant has itself under the same ref also where that is invalid', async () => {
    await feed('globex', entity('API', 'a', { definition: 0 }));
    await feed('acme', entity('API', 'a'));
    await share('acme', ['globex'], 'kind=api');
    await eventually(async () => {
      await expect(shares.list('globex')).resolves.toMatchObject({
        received: [{ copies: 0, conflicts: 1 }],
      });
    });
    expect(await namesOf('globex')).toEqual([]);
    await feed('globex');
    await eventuallyHas('globex', 'API a of acme');
  });

  it('is passed on by no process that has just given the work of the tenant up', async () => {
    // Its lease is still there, and its work has come to its end.
    await works.pause(tenants.idOf('globex'));
    await feed('acme', entity('API', 'a'));
    await share('acme', ['globex', 'initech'], 'kind=api');
    await eventuallyHas('initech', 'API a of acme');
    await feed('acme', entity('API', 'a'), entity('API', 'b'));
    await eventuallyHas('initech', 'API a of acme', 'API b of acme');
    expect(await handedOver('globex')).toBe(0);
    works.resume(tenants.idOf('globex'));
    await eventuallyHas('globex', 'API a of acme', 'API b of acme');
  });

  it('comes back where the engine has lost it, such as to a process that had the lease meanwhile', async () => {
    await feed('acme', entity('API', 'a'));
    await share('acme', ['globex'], 'kind=api');
    await eventuallyHas('globex', 'API a of acme');
    await engines.applyMutation(tenants.idOf('globex'), {
      source: SHARES_SOURCE,
      type: 'delta',
      added: [],
      removed: [{ entityRef: 'api:default/a' }],
    });
    await eventually(async () => {
      expect(await handedOver('globex')).toBe(1);
    });
    await eventuallyHas('globex', 'API a of acme');
  });

  it('is of the share with the lower position, where two have the same entity', async () => {
    await feed('acme', entity('API', 'a'));
    await feed('globex', entity('API', 'a'));
    await share('acme', ['initech'], 'kind=api');
    await eventuallyHas('initech', 'API a of acme');
    const { share_id } = await share('globex', ['initech'], 'kind=api');
    await shares.update('globex', share_id, { position: 1 });
    await eventuallyHas('initech', 'API a of globex');
    await eventually(async () => {
      await expect(shares.list('initech')).resolves.toMatchObject({
        received: [
          { tenant_slug: 'acme', copies: 0, conflicts: 1 },
          { tenant_slug: 'globex', copies: 1, conflicts: 0 },
        ],
      });
    });
  });

  it('comes from the default tenant too, whose catalog is the stock one', async () => {
    await backend.write(DEFAULT_TENANT_ID, {
      type: 'full',
      entities: [entity('API', 'd')],
    });
    const { share_id } = await share('default', ['globex'], 'kind=api');
    await eventuallyHas('globex', 'API d of default');
    await shares.delete('default', share_id);
    await eventuallyHas('globex');
    await expect(everything()).resolves.toEqual({});
  });

  it('is not passed on, and has no location that the engine would read', async () => {
    await feed('acme', entity('API', 'a'), entity('Location', 'l'));
    await share('acme', 'all', 'kind=api', 'kind=location');
    await share('globex', 'all', 'metadata.name');
    await feed('globex', entity('API', 'g'));
    await eventuallyHas('initech', 'API a of acme', 'API g of globex');
    await eventuallyHas('globex', 'API a of acme', 'API g');
    await eventually(async () => {
      await expect(everything()).resolves.toMatchObject({
        acme: ['API a', 'API g of globex', 'Location l'],
      });
    });
  });

  it('can neither be removed nor be claimed in the tenant that receives it, and leaves max_entities to its own', async () => {
    await feed('acme', entity('API', 'a'), entity('API', 'b'));
    await share('acme', ['globex'], 'kind=api');
    await client.query(
      `update tenants set max_entities = 1 where tenant_slug = 'globex'`,
    );
    const { tenant_id, ...forged } = {
      tenant_id: tenants.idOf('globex'),
      ...entity('API', 'forged', {}, { [ANNOTATION_SHARED_FROM]: 'acme' }),
    };
    await engines.applyMutation(tenant_id, {
      type: 'full',
      entities: [entity('API', 'own'), forged].map(each => ({
        entity: each,
        locationKey: 'own',
      })),
    });
    await eventuallyHas('globex', 'API a of acme', 'API b of acme', 'API own');
    await client.query(
      `update tenants set max_entities = 50000 where tenant_slug = 'globex'`,
    );
    const [copy, , own] = await entitiesOf('globex');
    const remove = ({ metadata }: Entity, path = '/entities/by-uid') =>
      backend.as('globex').send('delete', `${path}/${metadata.uid}`);
    // Express matches routes in any case.
    for (const path of ['/entities/by-uid', '/Entities/By-Uid']) {
      const refused = await remove(copy, path).expect(409);
      expect(refused.body.error.message).toBe(
        "The entity is a copy that the tenant 'acme' shares: remove the original, or end the share",
      );
    }
    for (const segment of ['%00', '%zz', 'none']) {
      const { statusCode } = await backend
        .as('globex')
        .send('delete', `/entities/by-uid/${segment}`);
      expect(`${segment} ${statusCode}`).toMatch(/ (204|4..)$/);
    }
    await remove(own).expect(204);
  });

  it('goes with a share that ends, and with its tenant, while no process runs', async () => {
    await feed('acme', entity('API', 'a'));
    await feed('globex', entity('API', 'g'));
    const { share_id } = await share('acme', ['initech'], 'kind=api');
    await share('globex', ['initech'], 'kind=api');
    await eventuallyHas('initech', 'API a of acme', 'API g of globex');
    await tenants.stop(backend);
    await client.query('delete from tenant_shares where share_id = $1', [
      share_id,
    ]);
    await client.query(
      `update tenants set deleted_at = now() where tenant_slug = 'globex'`,
    );
    await start();
    await eventuallyHas('initech');
    await client.query(
      `update tenants set deleted_at = null where tenant_slug = 'globex'`,
    );
    await eventually(async () => {
      expect(await namesOf('initech')).toEqual(['API g of globex']);
    });
  });

  it('reaches a tenant beside a share of a source that can not be read, whose copies stay', async () => {
    await feed('umbrella', entity('API', 'u'));
    await share('umbrella', ['globex'], 'kind=api');
    await eventuallyHas('globex', 'API u of umbrella');
    await tenants.stop(backend);
    // As no catalog writes an entity.
    await client.query(
      `insert into entities (tenant_id, entity_ref, entity_kind, entity_name, final_entity, hash)
       values ($1, 'api:default/x', 'api', 'x', '{"kind": "API"}', '')`,
      [tenants.idOf('umbrella')],
    );
    await start();
    await feed('acme', entity('API', 'a'));
    await share('acme', ['globex'], 'kind=api');
    await eventuallyHas('globex', 'API a of acme', 'API u of umbrella');
    await client.query(
      `delete from entities where entity_ref = 'api:default/x'`,
    );
    await feed('umbrella', entity('API', 'v'));
    await eventually(async () => {
      expect(await namesOf('globex')).toEqual([
        'API a of acme',
        'API v of umbrella',
      ]);
    });
  });

  it('follows changes while the tables of other tenants that receive it are locked', async () => {
    await feed('acme', entity('API', 'a'));
    await share('acme', 'all', 'kind=api');
    const others = ['globex', 'initech'];
    for (const slug of [...others, 'umbrella']) {
      await eventuallyHas(slug, 'API a of acme');
    }
    await client.query('begin');
    for (const slug of others) {
      await client.query(
        `lock table ${engineSchemaOf(
          tenants.idOf(slug),
        )}.refresh_state_references in access exclusive mode`,
      );
    }
    await feed('acme', entity('API', 'a'), entity('API', 'b'));
    await waitUntil('both to be waited for', async () => {
      await client.query('select pg_stat_clear_snapshot()');
      const { rows } = await client.query(
        `select distinct l.relation from pg_locks l
           join pg_class c on c.oid = l.relation
          where not l.granted and c.relname = 'refresh_state_references'`,
      );
      return rows.length === others.length;
    });
    await feed(
      'acme',
      entity('API', 'a'),
      entity('API', 'b'),
      entity('API', 'c'),
    );
    const all = ['API a of acme', 'API b of acme', 'API c of acme'];
    await eventuallyHas('umbrella', ...all);
    for (const slug of others) {
      await expect(namesOf(slug)).resolves.toEqual(['API a of acme']);
    }
    await client.query('commit');
    for (const slug of others) {
      await eventuallyHas(slug, ...all);
    }
  });

  it('is at rest what a model says, after random entities, shares, ends and conflicts', async () => {
    let seed = Number(process.env.SHARES_SEED ?? 7);
    const random = (below: number) => {
      seed = (seed * 48271) % 2147483647;
      return seed % below;
    };
    const own = new Map(TENANTS.map(slug => [slug, new Set<string>()]));
    const made: { id: string; from: string; to: string[]; names: string[] }[] =
      [];
    for (let round = 0; round < 4; round += 1) {
      for (let step = 0; step < 8; step += 1) {
        const slug = TENANTS[random(TENANTS.length)];
        const names = Array.from({ length: random(3) + 1 }, () =>
          String.fromCharCode(97 + random(6)),
        );
        if (random(3) === 0) {
          const to = TENANTS.filter(each => each !== slug && random(2) === 0);
          if (to.length > 0) {
            const { share_id } = await share(
              slug,
              to,
              ...names.map(name => `metadata.name=${name}`),
            );
            made.push({ id: share_id, from: slug, to, names });
          }
        } else if (random(4) === 0 && made.length > 0) {
          const [ended] = made.splice(random(made.length), 1);
          await shares.delete(ended.from, ended.id);
        } else {
          own.set(slug, new Set(names));
          await feed(slug, ...names.map(name => madeBy(slug, name)));
        }
      }
      /** The slugs of those that have made its entities, by name. */
      const model = (slug: string) => {
        const all = new Map([...own.get(slug)!].map(name => [name, slug]));
        for (const { from, to, names } of made) {
          for (const name of names) {
            if (
              to.includes(slug) &&
              own.get(from)!.has(name) &&
              !all.has(name)
            ) {
              all.set(name, from);
            }
          }
        }
        return [...all].sort();
      };
      await eventually(async () => {
        for (const slug of TENANTS) {
          expect(await namesOf(slug)).toEqual(
            model(slug).map(
              ([name, from]) =>
                `API ${name}${from === slug ? '' : ` of ${from}`}`,
            ),
          );
          expect(await tracesIn(slug)).toEqual(
            model(slug)
              .flatMap(([name, from]) => [
                `api:default/${name}`,
                `made-by-${from}-${name}`,
              ])
              .sort(),
          );
        }
      });
    }
  });
});
