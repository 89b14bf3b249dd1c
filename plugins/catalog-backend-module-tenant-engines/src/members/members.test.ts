import {
  coreServices,
  createServiceFactory,
} from '@backstage/backend-plugin-api';
import { mockServices } from '@backstage/backend-test-utils';
import type { Entity } from '@backstage/catalog-model';
import type { CatalogBackend } from '@internal/catalog-testing/startCatalogBackend';
import { insertEntities } from '@internal/catalog-testing/insertEntities';
import { createTestDatabases, waitUntil } from '@internal/postgres/testUtils';
import {
  DEFAULT_TENANT_ID,
  type TenantEngines,
  tenantEnginesServiceRef,
  type TenantMemberStore,
  tenantMemberStoreServiceRef,
  type TenantRole,
} from 'backstage-plugin-catalog-tenancy-node';
import { TenantsOfTest } from '../__testUtils__/TenantsOfTest';

const databases = createTestDatabases({ versions: 'newest' });

const ANNA = 'user:default/anna';
const BERT = 'user:default/bert';
const CREW = 'group:default/crew';

const person = (name: string, ...groups: string[]): Entity => ({
  apiVersion: 'backstage.io/v1alpha1',
  kind: 'User',
  metadata: { name, namespace: 'default', annotations: { secret: 'of all' } },
  spec: { profile: { displayName: `${name} of all` }, memberOf: groups },
  relations: groups.map(targetRef => ({ type: 'memberOf', targetRef })),
});

const group = (name: string): Entity => ({
  apiVersion: 'backstage.io/v1alpha1',
  kind: 'Group',
  metadata: { name, namespace: 'default' },
  spec: {
    type: 'team',
    profile: { displayName: `${name} of all` },
    children: [],
  },
});

/** The identity catalog. */
const IDENTITIES = [
  person('anna', CREW, 'group:default/secret-project'),
  person('bert', CREW),
  person('stranger', 'group:default/secret-project'),
  group('crew'),
  group('secret-project'),
];

describe.each(databases.eachSupportedId())('members as entities on %s', id => {
  let tenants: TenantsOfTest;
  let backend: CatalogBackend;
  let services: { engines: TenantEngines; members: TenantMemberStore };
  const logged: string[] = [];

  beforeAll(async () => {
    tenants = await TenantsOfTest.create(databases, id, ['acme', 'globex']);
    const note = (message: string) => logged.push(message);
    const logger = mockServices.logger.mock({ warn: note, error: note });
    logger.child.mockImplementation(() => logger);
    ({ backend, services } = await tenants.start(
      {
        engines: tenantEnginesServiceRef,
        members: tenantMemberStoreServiceRef,
      },
      {
        features: [
          createServiceFactory({
            service: coreServices.rootLogger,
            deps: {},
            factory: () => Object.assign(logger, { child: () => logger }),
          }),
        ],
        sources: ['own'],
      },
    ));
    await insertEntities(tenants.connection, DEFAULT_TENANT_ID, IDENTITIES);
  });
  afterAll(() => tenants.close());

  const put = (slug: string, principal: string, role: TenantRole = 'member') =>
    services.members.put(slug, { principal, role }, { by: 'test' });
  const get = (slug: string, ref: string) =>
    backend.store.getEntity(tenants.idOf(slug), ref);
  const until = (
    what: string,
    holds: (entity: Entity | undefined) => boolean,
    { slug = 'acme', ref = ANNA } = {},
  ) => waitUntil(what, async () => holds(await get(slug, ref)));
  const groupsOf = (entity?: Entity) =>
    (entity?.relations ?? [])
      .filter(({ type }) => type === 'memberOf')
      .map(({ targetRef }) => targetRef);
  const ownTitle = (entity?: Entity) => entity?.metadata.title === 'own';

  it('come and go with the membership, by themselves and by a group', async () => {
    await put('acme', ANNA);
    await until('anna', Boolean);
    const anna = await get('acme', ANNA);
    expect(anna).toMatchObject({
      spec: { profile: { displayName: 'anna of all' }, memberOf: [] },
    });
    expect(anna!.metadata.annotations).not.toHaveProperty('secret');
    await expect(get('globex', ANNA)).resolves.toBeUndefined();

    await put('acme', CREW, 'viewer');
    await until('the crew of anna', entity => groupsOf(entity).length > 0);
    expect(groupsOf(await get('acme', ANNA))).toEqual([CREW]);
    await until('bert', Boolean, { ref: BERT });
    await until('the crew', Boolean, { ref: CREW });
    // No membership and nobody from outside of the tenant shows.
    for (const ref of [
      'user:default/stranger',
      'group:default/secret-project',
    ]) {
      await expect(get('acme', ref)).resolves.toBeUndefined();
    }

    await services.members.remove('acme', CREW);
    await until('no bert', entity => !entity, { ref: BERT });
    await until('no crew of anna', entity => groupsOf(entity).length === 0);
    await services.members.remove('acme', ANNA);
    await until('no anna', entity => !entity);
  });

  it('have whom the provider of their tenant signs in, by the name alone', async () => {
    const ref = 'user:acme/jane';
    for (const slug of ['acme', 'globex']) {
      await put(slug, ref, 'viewer');
      await until('jane', Boolean, { slug, ref });
      expect(await get(slug, ref)).toMatchObject({
        metadata: { name: 'jane', namespace: 'acme' },
        spec: { profile: {}, memberOf: [] },
      });
      await services.members.remove(slug, ref);
      await until('no jane', entity => !entity, { slug, ref });
    }
  });

  it('follow the identity catalog', async () => {
    await put('globex', BERT);
    await until('bert', Boolean, { slug: 'globex', ref: BERT });
    await tenants.client.query(
      `update tenancy.entities
          set final_entity = jsonb_set(final_entity, '{spec,profile,displayName}', '"Bert the second"'),
              hash = 'another'
        where tenant_id = $1 and entity_ref = $2`,
      [DEFAULT_TENANT_ID, BERT],
    );
    await expect(
      until(
        'the new name',
        entity =>
          (entity?.spec?.profile as { displayName?: string } | undefined)
            ?.displayName === 'Bert the second',
        { slug: 'globex', ref: BERT },
      ),
    ).resolves.toBe(true);
    // Of all who are members, he is the only one there.
    await tenants.client.query(
      `update tenancy.entities set deleted_at = now() where tenant_id = $1 and entity_ref = $2`,
      [DEFAULT_TENANT_ID, BERT],
    );
    await until(
      'his name alone',
      entity => Object.keys(entity?.spec?.profile ?? {}).length === 0,
      { slug: 'globex', ref: BERT },
    );
  });

  it('let a viewer change nothing by the engine', async () => {
    const register = async (role: TenantRole) => {
      await put('globex', 'user:default/mock', role);
      const { status } = await backend
        .as('globex')
        .post('/locations', { type: 'url', target: 'https://example.invalid' });
      return status;
    };
    await expect(register('viewer')).resolves.toBe(403);
    await expect(register('member')).resolves.not.toBe(403);
  });

  it.each([undefined, 'own:key'])(
    'give way to what the tenant has itself, with the location key %s',
    async locationKey => {
      await put('acme', ANNA);
      await until('anna', Boolean);
      const own = {
        entity: {
          apiVersion: 'backstage.io/v1alpha1',
          kind: 'User',
          metadata: { name: 'anna', title: 'own' },
          spec: { memberOf: [] },
        },
        locationKey,
      };
      const handOver = (entities: (typeof own)[]) =>
        services.engines.applyMutation(tenants.idOf('acme'), {
          type: 'full',
          source: 'own',
          entities,
        });
      await handOver([own]);
      await until('their own anna', ownTitle);
      // What makes the provider look again.
      await put('acme', BERT);
      await until('bert', Boolean, { ref: BERT });
      expect(ownTitle(await get('acme', ANNA))).toBe(true);
      await handOver([]);
      await until(
        'anna of all',
        entity => entity !== undefined && !ownTitle(entity),
      );
      expect(logged.filter(line => /conflict/i.test(line))).toEqual([]);
      await services.members.remove('acme', ANNA);
      await services.members.remove('acme', BERT);
      await until('no anna', entity => !entity);
    },
  );
});
