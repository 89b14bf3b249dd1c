import { createServiceFactory } from '@backstage/backend-plugin-api';
import { mockCredentials, mockServices } from '@backstage/backend-test-utils';
import type { Entity } from '@backstage/catalog-model';
import { catalogServiceRef } from '@backstage/plugin-catalog-node';
import { catalogServiceMock } from '@backstage/plugin-catalog-node/testUtils';
import { AuthorizeResult } from '@backstage/plugin-permission-common';
import { createTestDatabases } from '@internal/postgres/testUtils';
import {
  ALICE,
  allowAll,
  CI,
  startTenantsBackend,
  type TenantsBackend,
} from '../__testUtils__/startTenantsBackend';
import { TenancyDatabase } from '../__testUtils__/TenancyDatabase';

const databases = createTestDatabases({ versions: 'newest' });

const entity = (
  kind: string,
  name: string,
  more: { title?: string; displayName?: unknown; namespace?: string } = {},
): Entity => ({
  apiVersion: 'backstage.io/v1alpha1',
  kind,
  metadata: {
    name,
    namespace: more.namespace ?? 'default',
    title: more.title,
  },
  spec: { profile: { displayName: more.displayName as string } },
});

const JANE = {
  principal: 'user:default/jane',
  kind: 'user',
  display_name: 'Jane Doe',
};
const CREW = {
  principal: 'group:teams/crew',
  kind: 'group',
  display_name: 'The Crew of Jane',
};

// Whose rights the catalog sees, and that it is the default tenant's, is shown with the gate
// in front of a real catalog: catalog-backend-module-tenancy/src/gate/principals.test.ts.
describe.each(databases.eachSupportedId().slice(-1))(
  'GET …/principals on %s',
  id => {
    const catalog = catalogServiceMock({
      entities: [
        entity('Component', 'jane-service'),
        entity('User', 'Jane', { title: 'other', displayName: 'Jane Doe' }),
        entity('Group', 'crew', {
          title: 'The Crew of Jane',
          namespace: 'teams',
        }),
        entity('User', 'odd', { displayName: { not: 'a text' } }),
        entity('User', 'blank', { displayName: ' ', title: 'Not blank' }),
        ...Array.from({ length: 60 }, (_, i) => entity('User', `many-${i}`)),
      ],
    });
    const authorize = jest.fn();
    let database: TenancyDatabase;
    let backend: TenantsBackend;

    beforeAll(async () => {
      database = await TenancyDatabase.create(databases, id);
      await database.fill({
        acme: { [ALICE]: 'admin' },
        globex: { [ALICE]: 'member' },
      });
      backend = await startTenantsBackend({
        pool: database.createPool(),
        features: [
          mockServices.permissions.mock({ authorize }).factory,
          createServiceFactory({
            service: catalogServiceRef,
            deps: {},
            factory: () => catalog,
          }),
        ],
      });
    });
    afterAll(() => database.close());

    beforeEach(() => {
      authorize.mockImplementation(allowAll);
    });
    afterEach(() => jest.restoreAllMocks());

    const find = (query = '', slug = 'acme', caller = backend.alice) =>
      caller.get(`/${slug}/principals${query}`);

    it('finds users and groups by name, display name and title, in any case', async () => {
      const { status, body, headers } = await find('?search=%20JANE%20');
      expect([status, body, headers['x-total-count']]).toEqual([
        200,
        [CREW, JANE],
        '2',
      ]);
      expect((await find('?search=the%20crew')).body).toEqual([CREW]);
      expect((await find('?search=odd')).body).toEqual([
        { principal: 'user:default/odd', kind: 'user', display_name: null },
      ]);
      expect((await find('?search=blank')).body).toMatchObject([
        { display_name: 'Not blank' },
      ]);
      expect((await find('?search=nobody')).body).toEqual([]);
    });

    it('answers 20 of all by default and 50 at most, and says how many there are', async () => {
      for (const [query, length] of [
        ['', 20],
        ['?limit=50', 50],
        ['?search=many&limit=1', 1],
      ] as const) {
        const { body, headers } = await find(query);
        expect(body).toHaveLength(length);
        expect(Number(headers['x-total-count'])).toBeGreaterThanOrEqual(60);
      }
    });

    it('looks named ones up, those of them that the catalog has', async () => {
      const named = ['User:default/JANE', CREW.principal, 'user:default/none'];
      const query = [...named, 'ci', JANE.principal]
        .map(principal => `principal=${encodeURIComponent(principal)}`)
        .join('&');
      const asked = jest.spyOn(catalog, 'getEntitiesByRefs');
      const { body, headers } = await find(`?${query}`);
      expect([body, headers['x-total-count']]).toEqual([[CREW, JANE], '2']);
      expect((await find('?principal=ci')).body).toEqual([]);
      // The catalog refuses what is no reference, as those of services are not.
      expect(asked.mock.calls.map(([{ entityRefs }]) => entityRefs)).toEqual([
        [CREW.principal, JANE.principal, 'user:default/none'],
      ]);
    });

    it('is what the client calls, with many references too', async () => {
      const { client } = backend;
      const asAlice = { token: mockCredentials.user.token(ALICE) };
      const principals = Array.from(
        { length: 50 },
        (_, i) => `user:default/many-${i}`,
      );
      const named = await client.findPrincipals(
        'acme',
        { principals },
        asAlice,
      );
      expect(named.totalItems).toBe(50);
      const search = { search: 'crew', limit: 5 };
      await expect(
        client.findPrincipals('acme', search, asAlice),
      ).resolves.toEqual({ items: [CREW], totalItems: 1 });
    });

    it('is for those who may change the members, before it asks any catalog', async () => {
      const asked = jest.spyOn(catalog, 'queryEntities');
      expect((await find('', 'acme', backend.admin)).status).toBe(200);
      expect((await find()).status).toBe(200);
      asked.mockClear();
      const refusals = [
        await find('', 'globex'),
        await find('', 'none'),
        await find('', 'acme', backend.user('user:default/mock')),
      ];
      authorize.mockImplementation(async requests =>
        requests.map(({ permission }: { permission: { name: string } }) => ({
          result:
            permission.name === 'tenancy.member.update'
              ? AuthorizeResult.DENY
              : AuthorizeResult.ALLOW,
        })),
      );
      refusals.push(await find());
      expect(refusals.map(({ status }) => status)).toEqual([
        403, 403, 403, 403,
      ]);
      expect(new Set(refusals.map(({ body }) => body.error.message)).size).toBe(
        1,
      );
      expect((await find('', 'acme', backend.anonymous)).status).toBe(401);
      expect((await find('', 'gone', backend.admin)).status).toBe(404);
      expect(asked).not.toHaveBeenCalled();
    });

    it('is for named ones or for a search, not for both', async () => {
      const { status, body } = await find('?search=jane&principal=ci');
      expect([status, body.error.message]).toEqual([
        400,
        'Invalid query: expected either search or principal, got both',
      ]);
    });

    it('says who the catalog refuses, who can still type a principal', async () => {
      jest
        .spyOn(catalog, 'queryEntities')
        .mockRejectedValue(Object.assign(new Error('no'), { statusCode: 403 }));
      const { status, body } = await find();
      expect([status, body.error.name]).toEqual([
        403,
        'IdentityCatalogNotAllowedError',
      ]);
    });

    it('refuses services, for which the call would be the plugin’s own', async () => {
      const asked = jest.spyOn(catalog, 'queryEntities');
      const { status, body } = await find('', 'acme', backend.service(CI));
      expect([status, body.error.name]).toEqual([
        403,
        'IdentityCatalogNotAllowedError',
      ]);
      expect(asked).not.toHaveBeenCalled();
    });

    it('says with 503 that the catalog does not answer, and nothing of why', async () => {
      jest
        .spyOn(catalog, 'queryEntities')
        .mockRejectedValue(new Error('connect ECONNREFUSED 10.0.0.1:5432'));
      const { status, body } = await find('?search=a', 'acme', backend.admin);
      expect([status, body.error.message]).toEqual([
        503,
        'The catalog of the default tenant, which has the users and groups, cannot be read at the moment',
      ]);
    });
  },
);
