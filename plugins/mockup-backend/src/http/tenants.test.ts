import { mockServices } from '@backstage/backend-test-utils';
import { createTestDatabases } from '@internal/postgres/testUtils';
import { tenantGateServiceMock } from 'backstage-plugin-catalog-tenancy-node/testUtils';
import { randomUUID } from 'node:crypto';
import {
  ALICE,
  item,
  testBackend,
  UNKNOWN_ID,
} from '../__testUtils__/startMockupBackend';

const databases = createTestDatabases({ versions: 'newest' });

const TENANTS = [
  {
    tenantSlug: 'acme',
    tenantId: '00000000-0000-4000-8000-00000000000a',
  },
  {
    tenantSlug: 'globex',
    tenantId: '00000000-0000-4000-8000-00000000000b',
  },
];

describe.each(databases.eachSupportedId())(
  'mockups of tenants over HTTP on %s',
  id => {
    const backend = testBackend(databases, id, {
      features: [
        tenantGateServiceMock.factory({ tenants: TENANTS }),
        mockServices.rootConfig.factory({
          data: { tenancy: { enabled: true } },
        }),
      ],
    });

    beforeEach(() => backend.knex('mockups').delete());

    /** Alice, in a tenant. */
    const inTenant = (slug: string) => {
      const { alice } = backend;
      return {
        get: (path: string) => alice.get(path).set('X-Tenant-Slug', slug),
        put: (path: string, body: unknown) =>
          alice.put(path, body).set('X-Tenant-Slug', slug),
        post: (path: string, body?: unknown) =>
          alice.post(path, body).set('X-Tenant-Slug', slug),
        patch: (path: string, body: unknown) =>
          alice.patch(path, body).set('X-Tenant-Slug', slug),
        delete: (path: string) => alice.delete(path).set('X-Tenant-Slug', slug),
      };
    };

    /** Creates a mockup with a version, and returns its path and that of the version. */
    async function create(slug: string, name = 'Checkout') {
      const caller = inTenant(slug);
      const created = await caller.post('/mockups', { name });
      expect(created.status).toBe(201);
      const path = `/mockups/${created.body.id}`;
      const saved = await caller.post(`${path}/versions`, {
        layoutData: [item()],
      });
      expect(saved.status).toBe(201);
      return {
        created,
        path,
        version: `${path}/versions/${saved.body.id}`,
        etag: saved.headers.etag,
      };
    }

    it.each([
      ['globex', 'acme'],
      ['default', 'acme'],
      ['acme', 'default'],
    ])(
      'are to %s, where they are of %s, as if they did not exist',
      async (slug, other) => {
        const { path, version, etag } = await create(other);
        const caller = inTenant(slug);
        const requests = (at: string, versionAt: string) => [
          caller.get(at),
          caller.get(at).set('If-None-Match', etag),
          caller.patch(at, { name: 'x' }),
          caller.patch(at, { name: 'x' }).set('If-Match', etag),
          caller.patch(at, { name: 'x' }).set('If-Match', '"1"'),
          caller.put(`${at}/shares`, { shares: [] }),
          caller.put(`${at}/shares`, { shares: [] }).set('If-Match', '"1"'),
          caller.delete(at),
          caller.delete(at).set('If-Match', '"1"'),
          caller.get(`${at}/export`),
          caller.get(`${at}/versions`),
          caller.post(`${at}/versions`, { layoutData: [] }),
          caller.get(versionAt),
          caller.get(`${versionAt}/diff?to=${versionAt.split('/').at(-1)}`),
          caller.patch(versionAt, { versionTag: 'x' }),
          caller.patch(versionAt, { versionTag: 'x' }).set('If-Match', '"1"'),
          caller.post(`${versionAt}/restore`, {}),
          caller.post(`${versionAt}/restore`, {}).set('If-Match', '"1"'),
          caller.post(`${at}/duplicate`, {}),
          caller.post(`${at}/duplicate`, { withHistory: true }),
        ];
        const unknown = `/mockups/${UNKNOWN_ID}`;
        const versionId = version.split('/').at(-1);
        const theirs = await Promise.all(requests(path, version));
        const none = await Promise.all(
          requests(unknown, `${unknown}/versions/${versionId}`),
        );
        const idOf = (at: string) => at.split('/')[2];
        theirs.forEach((answer, index) => {
          expect(answer.status).toBe(404);
          expect(answer.text).toBe(
            none[index].text.replaceAll(idOf(unknown), idOf(path)),
          );
        });
        const before = await inTenant(other).get(path);
        expect(before.headers.etag).toBe(etag);
      },
    );

    it('are made once in each tenant with the same Idempotency-Key', async () => {
      const attempt = async (slug: string) => {
        const { status, body } = await inTenant(slug)
          .post('/mockups', { name: 'x' })
          .set('Idempotency-Key', 'a key');
        expect(status).toBe(201);
        return body.id;
      };
      const made = await attempt('acme');
      expect(await attempt('globex')).not.toBe(made);
      expect(await attempt('acme')).toBe(made);
    });

    it('are exported from their tenant, and imported into that of the request', async () => {
      await create('acme', 'hers');
      const exported = await inTenant('acme').get('/export');
      expect(exported.body.mockups).toHaveLength(1);
      expect((await inTenant('globex').get('/export')).body.mockups).toEqual(
        [],
      );
      const imported = await inTenant('globex').post('/import', exported.body);
      expect(imported.status).toBe(201);
      const again = await inTenant('globex').get('/export');
      expect(again.body.mockups).toEqual(exported.body.mockups);
      expect((await inTenant('acme').get('/export')).body.mockups).toHaveLength(
        1,
      );
    });

    it('are not there for the rules of permissions in another tenant', async () => {
      const { created } = await create('acme');
      const ids = Array.from({ length: 500 }, () => randomUUID());
      const decide = async (slug: string) => {
        const { body } = await backend.service
          .post('/.well-known/backstage/permissions/apply-conditions', {
            // More than a page of them, and in upper case.
            items: [...ids, created.body.id.toUpperCase()].map(resourceRef => ({
              id: '1',
              resourceRef,
              resourceType: 'mockup',
              conditions: {
                rule: 'IS_OWNER',
                resourceType: 'mockup',
                params: { claims: [ALICE] },
              },
            })),
          })
          .set('X-Tenant-Slug', slug);
        return body.items.at(-1).result;
      };
      await expect(decide('acme')).resolves.toBe('ALLOW');
      await expect(decide('globex')).resolves.toBe('DENY');

      // In the trash, too: a page asks who may restore it.
      await inTenant('acme').delete(`/mockups/${created.body.id}`);
      await expect(decide('acme')).resolves.toBe('ALLOW');
      await expect(decide('globex')).resolves.toBe('DENY');
      const globex = inTenant('globex');
      const trashed = `/trash/${created.body.id}`;
      const { text } = await globex.get('/trash?limit=500');
      expect(text).not.toContain(created.body.id);
      expect((await globex.post(`${trashed}/restore`)).status).toBe(404);
      expect((await globex.delete(trashed)).status).toBe(404);
      await inTenant('acme').delete(`/trash/${created.body.id}`);
      await expect(decide('acme')).resolves.toBe('DENY');
    });

    it('say nothing of a tenant that does not exist', async () => {
      const { path } = await create('acme');
      const { status, text } = await inTenant('nobody').get(path);
      expect([status, text]).toEqual([403, '{"error":"Invalid tenant"}']);
    });
  },
);
