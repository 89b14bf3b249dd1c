import { createTestDatabases } from '@internal/postgres/testUtils';
import {
  CI,
  startTenantsBackend,
  type TenantsBackend,
} from '../__testUtils__/startTenantsBackend';
import { TenancyDatabase } from '../__testUtils__/TenancyDatabase';

const databases = createTestDatabases({ versions: 'newest' });

const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

describe.each(databases.eachSupportedId())('/api/tenants on %s', id => {
  let database: TenancyDatabase;
  let backend: TenantsBackend;

  beforeAll(async () => {
    database = await TenancyDatabase.create(databases, id);
    backend = await startTenantsBackend({ pool: database.createPool() });
  });
  afterAll(() => database.close());
  beforeEach(() => database.empty());

  const create = async (tenant_slug: string) => {
    const response = await backend.admin.post('', {
      tenant_slug,
      tenant_name: `Of ${tenant_slug}`,
    });
    expect(response.status).toBe(201);
    return response.body;
  };

  const errorOf = ({ status, body }: { status: number; body: any }) => [
    status,
    body.error.name,
    body.error.message,
  ];

  it.each([
    ['post', '/', 100],
    ['patch', '/acme', 100],
    ['put', '/acme/members/user:default%2Fa', 10],
    ['post', '/acme/invitations', 10],
    ['post', '/mine/accepted-invitations', 10],
    ['put', '/acme/sign-in', 100],
    ['post', '/acme/shares', 200],
    ['patch', '/acme/shares/none', 200],
    ['put', '/acme/catalog-config', 256],
  ] as const)(
    'takes no larger body than it says: %s %s, %d KiB',
    async (method, path, most) => {
      const statusOf = async (bytes: number) => {
        const body = { x: 'x'.repeat(bytes - '{"x":""}'.length) };
        return (await backend.admin[method](path, body)).status;
      };
      expect(await statusOf(most * 1024)).toBe(400);
      expect(await statusOf(most * 1024 + 1)).toBe(413);
    },
  );

  describe('POST /', () => {
    it('answers 201 with the row, and where it is', async () => {
      const response = await backend.admin.post('', {
        tenant_slug: 'acme',
        tenant_name: 'Acme',
      });
      expect(response.status).toBe(201);
      expect(response.get('Location')).toBe('/api/tenants/acme');
      expect(response.body).toEqual({
        tenant_id: expect.stringMatching(UUID),
        tenant_slug: 'acme',
        tenant_name: 'Acme',
        max_entities: 50000,
        entity_ttl_days: 365,
        concurrency: null,
        requests_per_second: null,
        burst: null,
        created_at: expect.stringMatching(ISO_TIME),
        updated_at: expect.stringMatching(ISO_TIME),
        deleted_at: null,
      });
      const found = await backend.admin.get('/acme');
      expect(found.status).toBe(200);
      expect(found.body).toEqual(response.body);
    });

    it('answers 400 that names each bad value and the expected form', async () => {
      const response = await backend.admin.post('', {
        tenant_slug: 'Acme!',
        tenant_name: '',
        max_entities: -1,
      });
      expect(errorOf(response)).toEqual([
        400,
        'InputError',
        'Invalid tenant: tenant_slug must be 1 to 63 characters of a-z, 0-9 and -, got "Acme!"; ' +
          'tenant_name must be a text of 1 to 255 characters, got ""; ' +
          'max_entities must be an integer from 0 to 2147483647, got -1',
      ]);
      const reserved = await backend.admin.post('', {
        tenant_slug: 'www',
        tenant_name: 'x',
      });
      expect(reserved.status).toBe(400);
    });

    it('answers the same again with the same Idempotency-Key', async () => {
      const attempt = (
        tenant_slug: string,
        { key = 'a key', tenant_name = 'A', as = backend.admin } = {},
      ) =>
        as.post('', { tenant_slug, tenant_name }).set('Idempotency-Key', key);
      const first = await attempt('acme');
      const second = await attempt('acme');
      expect([second.status, second.body]).toEqual([201, first.body]);
      expect((await attempt('acme', { key: 'another' })).status).toBe(409);
      // Of other content, or of another user, it is another request.
      const as = backend.service(CI);
      expect((await attempt('acme', { as })).status).toBe(409);
      expect((await attempt('acme', { tenant_name: 'B' })).status).toBe(409);
      expect((await attempt('globex')).status).toBe(201);
      await backend.admin.delete('/acme');
      expect((await attempt('acme')).status).toBe(409);
    });

    it('answers 409 for a slug that is taken, also by a deleted tenant', async () => {
      await create('acme');
      const again = { tenant_slug: 'acme', tenant_name: 'Again' };
      expect(errorOf(await backend.admin.post('', again))).toEqual([
        409,
        'ConflictError',
        "The slug 'acme' is taken",
      ]);
      await backend.admin.delete('/acme');
      expect(errorOf(await backend.admin.post('', again))).toEqual([
        409,
        'ConflictError',
        "The slug 'acme' is taken by a deleted tenant, which can be restored",
      ]);
    });
  });

  describe('GET /', () => {
    it('answers a bare array, ordered by slug, without deleted tenants', async () => {
      const b = await create('b');
      const a = await create('a');
      await create('gone');
      await backend.admin.delete('/gone');
      const response = await backend.admin.get('');
      expect(response.status).toBe(200);
      expect(response.get('X-Total-Count')).toBe('3');
      expect(response.get('Link')).toBeUndefined();
      expect(response.body).toEqual([
        a,
        b,
        expect.objectContaining({ tenant_slug: 'default' }),
      ]);
      const all = await backend.admin.get('?deleted=true');
      expect(all.get('X-Total-Count')).toBe('4');
      expect(all.body[3]).toMatchObject({
        tenant_slug: 'gone',
        deleted_at: expect.stringMatching(ISO_TIME),
      });
      const active = await backend.admin.get('?deleted=false');
      expect(active.body).toEqual(response.body);
    });

    it('leads through all pages by its Link header', async () => {
      for (const slug of ['a', 'b', 'c', 'd']) {
        await create(slug);
      }
      await backend.admin.delete('/c');
      const slugs: string[] = [];
      let path = '?limit=2&deleted=true';
      for (let pages = 1; path; pages += 1) {
        expect(pages).toBeLessThanOrEqual(3);
        const response = await backend.admin.get(path);
        expect(response.get('X-Total-Count')).toBe('5');
        slugs.push(
          ...response.body.map(
            (tenant: { tenant_slug: string }) => tenant.tenant_slug,
          ),
        );
        const next = /^<\/api\/tenants\/?(\?.*)>; rel="next"$/.exec(
          response.get('Link') ?? '',
        );
        path = next?.[1] ?? '';
      }
      expect(slugs).toEqual(['a', 'b', 'c', 'd', 'default']);
    });

    it('finds tenants by a part of the slug or name, page by page', async () => {
      for (const slug of ['acme', 'my-acme', 'other']) {
        await create(slug);
      }
      const response = await backend.admin.get('?search=ACME&limit=1');
      expect(response.get('X-Total-Count')).toBe('2');
      expect(response.body).toMatchObject([{ tenant_slug: 'acme' }]);
      expect(response.get('Link')).toMatch(
        /^<\/api\/tenants\/?\?search=ACME&limit=1&offset=1>; rel="next"$/,
      );
      const none = await backend.admin.get('?search=%25');
      expect(none.get('X-Total-Count')).toBe('0');
      expect(none.body).toEqual([]);
    });
  });

  describe('GET /:slug', () => {
    it.each(['/nobody', '/Default', '/%00', '/..%2fx', "/'%20or%20true"])(
      'answers 404 to %s',
      async path => {
        const response = await backend.admin.get(path);
        expect(response.status).toBe(404);
        expect(response.body.error.name).toBe('NotFoundError');
      },
    );
  });

  describe('PATCH /:slug', () => {
    it('changes the name and the limits', async () => {
      const before = await create('acme');
      const changes = { tenant_name: 'New', max_entities: 1 };
      const response = await backend.admin.patch('/acme', changes);
      expect(response.status).toBe(200);
      expect(response.body).toEqual({
        ...before,
        ...changes,
        updated_at: expect.stringMatching(ISO_TIME),
      });
      expect(response.body.updated_at > before.updated_at).toBe(true);
    });

    it('gives the tenant limits of its own, and with null the configured ones back', async () => {
      const before = await create('acme');
      const limits = { concurrency: 1, requests_per_second: 5, burst: 9 };
      const limited = await backend.admin.patch('/acme', limits);
      expect([limited.status, limited.body]).toEqual([
        200,
        { ...before, ...limits, updated_at: limited.body.updated_at },
      ]);
      const listed = await backend.admin.get('?search=acme&summary=true');
      expect(listed.body).toMatchObject([limits]);
      const back = await backend.admin.patch('/acme', {
        concurrency: null,
        requests_per_second: null,
      });
      expect([back.status, back.body]).toEqual([
        200,
        { ...before, updated_at: back.body.updated_at },
      ]);
    });

    it('answers 404 for no tenant, or a deleted one', async () => {
      await create('acme');
      await backend.admin.delete('/acme');
      for (const slug of ['acme', 'nobody', 'No Slug']) {
        const response = await backend.admin.patch(
          `/${encodeURIComponent(slug)}`,
          { tenant_name: 'x' },
        );
        expect(response.status).toBe(404);
      }
    });
  });

  describe('DELETE /:slug and POST /:slug/restore', () => {
    it('mark a tenant as deleted, and take that back', async () => {
      const created = await create('acme');
      const deleted = await backend.admin.delete('/acme');
      expect([deleted.status, deleted.text]).toEqual([204, '']);
      expect((await backend.admin.delete('/acme')).status).toBe(404);
      const restored = await backend.admin.post('/acme/restore');
      expect(restored.status).toBe(200);
      expect(restored.body).toEqual({
        ...created,
        updated_at: expect.stringMatching(ISO_TIME),
      });
      const again = await backend.admin.post('/acme/restore');
      expect([again.status, again.body]).toEqual([200, restored.body]);
      expect((await backend.admin.post('/nobody/restore')).status).toBe(404);
    });

    it('leave the default tenant alone', async () => {
      expect(errorOf(await backend.admin.delete('/default'))).toEqual([
        409,
        'ConflictError',
        "The tenant 'default' cannot be deleted: requests that name no tenant belong to it",
      ]);
    });
  });

  describe('GET /:slug/usage', () => {
    it('counts what the tenant holds', async () => {
      const { tenant_id, created_at } = await create('acme');
      await database.client.query(
        `insert into entities (tenant_id, entity_ref, entity_kind, entity_namespace,
                               entity_name, final_entity, hash)
         select tenant, 'component:default/a', 'component', 'default', 'a', '{}', 'x'
           from unnest($1::uuid[]) tenant`,
        [[tenant_id, (await create('other')).tenant_id]],
      );
      const response = await backend.admin.get('/acme/usage');
      expect(response.status).toBe(200);
      expect(response.body).toEqual({
        tenant_slug: 'acme',
        live_entities: 1,
        shared_entities: 0,
        deleted_entities: 0,
        relations: 0,
        max_entities: 50000,
        entity_ttl_days: 365,
        concurrency: null,
        requests_per_second: null,
        burst: null,
        created_at,
      });
      expect((await backend.admin.get('/nobody/usage')).status).toBe(404);
    });
  });
});
