import type { Entity } from '@backstage/catalog-model';
import { AuthorizeResult } from '@backstage/plugin-permission-common';
import { createTestDatabases } from '@internal/postgres/testUtils';
import {
  DEFAULT_TENANT_ID,
  tenantMemberStoreServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';
// The plugin itself, whose route calls the catalog through the gate.
// eslint-disable-next-line @backstage/no-mixed-plugin-imports
import tenantsPlugin from 'backstage-plugin-tenants-backend';
import { insertEntities } from '@internal/catalog-testing/insertEntities';
import { readPolicy } from '@internal/catalog-testing/readPolicy';
import { signedInGuest, signIn } from '@internal/catalog-testing/signedInGuest';
import {
  type CatalogBackend,
  startCatalogBackend,
} from '@internal/catalog-testing/startCatalogBackend';
import { takeServices } from '@internal/catalog-testing/takeServices';
import { createTenancyDatabase } from '@internal/catalog-testing/tenancyDatabase';
import request from 'supertest';

const ALICE = 'user:default/alice';
const guest = signedInGuest(ALICE);
const databases = createTestDatabases({ versions: 'newest' });

const user = (name: string, displayName: string): Entity => ({
  apiVersion: 'backstage.io/v1alpha1',
  kind: 'User',
  metadata: { name, namespace: 'default' },
  spec: { profile: { displayName }, memberOf: [] },
});

// The routes by themselves: tenants-backend/src/http/principals.test.ts.
describe.each(databases.eachSupportedId())(
  'who is found to become a member of a tenant on %s',
  id => {
    let connection: Awaited<ReturnType<typeof createTenancyDatabase>>;
    let mayRead: boolean;
    let everyone: CatalogBackend;
    let membersOnly: CatalogBackend;

    async function start(membershipOfDefault: 'everyone' | 'members') {
      const { feature, services } = takeServices({
        members: tenantMemberStoreServiceRef,
      });
      const backend = await startCatalogBackend({
        connection,
        enabled: true,
        features: [
          ...guest.features,
          readPolicy(() => ({
            result: mayRead ? AuthorizeResult.ALLOW : AuthorizeResult.DENY,
          })),
          tenantsPlugin,
          feature,
        ],
        config: {
          ...guest.config,
          tenancy: { membership: 'required', membershipOfDefault },
        },
      });
      return { backend, members: services.members };
    }

    beforeAll(async () => {
      connection = await createTenancyDatabase(databases, id);
      const { backend, members } = await start('everyone');
      everyone = backend;
      await insertEntities(connection, DEFAULT_TENANT_ID, [
        user('jane', 'Jane of all'),
        user('john', 'John'),
      ]);
      await backend.createTenant('acme', [user('impostor', 'Jane of acme')]);
      await members.put(
        'acme',
        { principal: ALICE, role: 'admin' },
        { by: 'x' },
      );
      membersOnly = (await start('members')).backend;
    });
    beforeEach(() => {
      mayRead = true;
    });

    async function find(
      backend: CatalogBackend,
      query: string,
      headers: Record<string, string> = {},
    ) {
      return request(backend.server)
        .get(`/api/tenants/acme/principals${query}`)
        .set('Authorization', `Bearer ${await signIn(backend)}`)
        .set(headers);
    }
    const JANE = {
      principal: 'user:default/jane',
      kind: 'user',
      display_name: 'Jane of all',
    };

    it.each([
      ['no tenant', {}],
      ['the header of the tenant', { 'X-Tenant-Slug': 'acme' }],
      ['the hostname of the tenant', { Host: 'acme.portal.example.com' }],
    ])(
      'are those of the default tenant, in a request that names %s',
      async (_, headers: Record<string, string>) => {
        const found = await find(everyone, '?search=jane', headers);
        expect([found.status, found.body]).toEqual([200, [JANE]]);
        const named = await find(
          everyone,
          '?principal=user:default/jane&principal=user:default/impostor',
          headers,
        );
        expect(named.body).toEqual([JANE]);
      },
    );

    it('are those whom the caller may read in the catalog, and no others', async () => {
      mayRead = false;
      for (const query of [
        '',
        '?search=jane',
        '?principal=user:default/jane',
      ]) {
        const { status, body } = await find(everyone, query);
        expect([status, body]).toEqual([200, []]);
      }
    });

    it('are named to nobody who may not enter the default tenant: 403, which says so', async () => {
      for (const query of [
        '',
        '?search=jane',
        '?principal=user:default/jane',
      ]) {
        const { status, body } = await find(membersOnly, query);
        expect([status, body.error]).toMatchObject([
          403,
          {
            name: 'IdentityCatalogNotAllowedError',
            message: expect.stringContaining(
              'may not read the catalog of the default tenant',
            ),
          },
        ]);
      }
    });
  },
);
