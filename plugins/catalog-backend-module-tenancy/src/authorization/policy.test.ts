import type { Entity } from '@backstage/catalog-model';
import {
  catalogConditions,
  createCatalogConditionalDecision,
} from '@backstage/plugin-catalog-backend/alpha';
import { catalogEntityReadPermission } from '@backstage/plugin-catalog-common/alpha';
import {
  AuthorizeResult,
  type PolicyDecision,
} from '@backstage/plugin-permission-common';
import { createTestDatabases } from '@internal/postgres/testUtils';
import { tenantMemberStoreServiceRef } from 'backstage-plugin-catalog-tenancy-node';
import { component } from '@internal/catalog-testing/entities';
import { readPolicy } from '@internal/catalog-testing/readPolicy';
import { signedInGuest, signIn } from '@internal/catalog-testing/signedInGuest';
import {
  type CatalogBackend,
  startCatalogBackend,
} from '@internal/catalog-testing/startCatalogBackend';
import { takeServices } from '@internal/catalog-testing/takeServices';
import { createTenancyDatabase } from '@internal/catalog-testing/tenancyDatabase';

const ALICE = 'user:default/alice';

const guest = signedInGuest(ALICE);

const databases = createTestDatabases({ versions: 'newest' });

const ownedBy = (
  name: string,
  owner: string,
  lifecycle = 'production',
): Entity =>
  component(name, {
    spec: { type: 'service', lifecycle, owner },
    relations: [{ type: 'ownedBy', targetRef: owner }],
  });

/** The token of ALICE, another one each time. */
describe.each(databases.eachSupportedId())(
  'a policy about catalog.entity.read on %s',
  id => {
    let backend: CatalogBackend;
    let token: string;
    let decide: (claims: string[]) => PolicyDecision;

    const policy = readPolicy(claims => decide(claims));

    beforeAll(async () => {
      const connection = await createTenancyDatabase(databases, id);
      backend = await startCatalogBackend({
        connection,
        enabled: true,
        features: [...guest.features, policy],
        config: guest.config,
      });
      for (const slug of ['acme', 'globex']) {
        await backend.createTenant(slug, [
          ownedBy('shared', slug === 'acme' ? ALICE : 'user:default/bob'),
          ownedBy('old', ALICE, 'deprecated'),
          ownedBy('his', 'user:default/bob'),
        ]);
      }
      token = await signIn(backend);
    });

    const see = async (slug: string) => {
      const caller = backend.as(slug);
      const get = (path: string) =>
        caller.get(path).set('Authorization', `Bearer ${token}`);
      const names = async (query: string) => {
        const { body } = await get(`/entities?fields=metadata.name${query}`);
        return body.map((entity: Entity) => entity.metadata.name).sort();
      };
      const refs = ['shared', 'old', 'his'].map(
        name => `component:default/${name}`,
      );
      const batch = await caller
        .post('/entities/by-refs', { entityRefs: refs })
        .set('Authorization', `Bearer ${token}`);
      const byName = await Promise.all(
        ['shared', 'old', 'his'].map(name =>
          get(`/entities/by-name/component/default/${name}`),
        ),
      );
      return {
        all: await names(''),
        page: await names('&limit=10'),
        filtered: await names('&filter=spec.lifecycle=production'),
        byRefs: batch.body.items.map(
          (entity: Entity | null) => entity?.metadata.name ?? null,
        ),
        byName: byName.map(answer => answer.status),
      };
    };

    it('with conditions looks at the entities of the tenant of the request', async () => {
      decide = claims =>
        createCatalogConditionalDecision(catalogEntityReadPermission, {
          allOf: [
            catalogConditions.isEntityOwner({ claims }),
            catalogConditions.isEntityKind({ kinds: ['Component'] }),
          ],
        });
      await expect(see('acme')).resolves.toEqual({
        all: ['old', 'shared'],
        page: ['old', 'shared'],
        filtered: ['shared'],
        byRefs: ['shared', 'old', null],
        byName: [200, 200, 404],
      });
      await expect(see('globex')).resolves.toEqual({
        all: ['old'],
        page: ['old'],
        filtered: [],
        byRefs: [null, 'old', null],
        byName: [404, 200, 404],
      });
    });

    it('with conditions hides by uid what it hides by name', async () => {
      decide = () => ({ result: AuthorizeResult.ALLOW });
      const get = (path: string) =>
        backend.as('acme').get(path).set('Authorization', `Bearer ${token}`);
      const his = await get('/entities/by-name/component/default/his');
      const path = `/entities/by-uid/${his.body.metadata.uid}`;
      expect((await get(path)).status).toBe(200);
      decide = () =>
        createCatalogConditionalDecision(catalogEntityReadPermission, {
          not: catalogConditions.hasSpec({
            key: 'owner',
            value: 'user:default/bob',
          }),
        });
      const hidden = await get(path);
      expect(hidden.status).toBe(404);
      expect(hidden.body.error.message).toBe(
        `No entity with uid ${his.body.metadata.uid}`,
      );
    });
  },
);

describe.each(databases.eachSupportedId())(
  'with tenancy.permissions.maxDecisionAgeMs on %s',
  id => {
    it('what a user was allowed holds for the same token and tenant, and for nobody else', async () => {
      let result: AuthorizeResult.ALLOW | AuthorizeResult.DENY =
        AuthorizeResult.ALLOW;
      const taken = takeServices({ members: tenantMemberStoreServiceRef });
      const backend = await startCatalogBackend({
        connection: await createTenancyDatabase(databases, id),
        enabled: true,
        features: [
          ...guest.features,
          readPolicy(() => ({ result })),
          taken.feature,
        ],
        config: {
          ...guest.config,
          tenancy: {
            membership: 'required',
            permissions: { maxDecisionAgeMs: 60_000 },
          },
        },
      });
      const { members } = taken.services;
      for (const slug of ['acme', 'globex']) {
        await backend.createTenant(slug, [ownedBy('its', ALICE)]);
        await members.put(
          slug,
          { principal: ALICE, role: 'member' },
          { by: 'x' },
        );
      }
      const read = async (slug: string, token: string) => {
        const { status } = await backend
          .as(slug)
          .get('/entities/by-name/component/default/its')
          .set('Authorization', `Bearer ${token}`);
        return status;
      };
      const token = await signIn(backend);
      await expect(read('acme', token)).resolves.toBe(200);
      result = AuthorizeResult.DENY;
      await expect(read('acme', token)).resolves.toBe(200);
      await expect(read('globex', token)).resolves.toBe(404);
      await expect(read('acme', await signIn(backend))).resolves.toBe(404);
      // A refusal is not kept.
      result = AuthorizeResult.ALLOW;
      await expect(read('globex', token)).resolves.toBe(200);
      // Who may enter is no decision of the policy.
      await members.remove('acme', ALICE);
      await expect(read('acme', token)).resolves.toBe(403);
    });
  },
);
