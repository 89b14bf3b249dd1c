import { mockServices } from '@backstage/backend-test-utils';
import { createTestDatabases } from '@internal/postgres/testUtils';
import type { Caller } from '@internal/catalog-testing/caller';
import {
  startTenantsBackend,
  type TenantsBackend,
} from '../__testUtils__/startTenantsBackend';
import { TenancyDatabase } from '../__testUtils__/TenancyDatabase';

const databases = createTestDatabases();

const NO_SHARE = '00000000-0000-4000-8000-000000000099';

describe.each(databases.eachSupportedId())('shares on %s', id => {
  let database: TenancyDatabase;
  let backend: TenantsBackend;
  let admin: Caller;
  const auditor = mockServices.auditor.mock();
  const audited: object[] = [];

  beforeAll(async () => {
    database = await TenancyDatabase.create(databases, id);
    backend = await startTenantsBackend({
      pool: database.createPool(),
      features: [auditor.factory],
    });
    admin = backend.admin;
  });
  afterAll(async () => {
    await backend?.stop();
    await database?.close();
  });

  beforeEach(async () => {
    auditor.createEvent
      .mockReset()
      .mockImplementation(async ({ eventId, meta }) => ({
        success: async more => {
          audited.push({ eventId, ...meta, ...more?.meta });
        },
        fail: async () => undefined,
      }));
    await database.client.query(
      'delete from tenant_shares; delete from tenant_share_copies',
    );
    await database.fill();
  });

  const share = { targets: ['globex'], filter: ['kind=template,spec.type=a'] };

  it('are made, changed and ended by an administrator', async () => {
    const made = await admin.post('/acme/shares', share);
    expect(made.body).toMatchObject({
      ...share,
      owner: null,
      position: 100,
      created_by: 'user:default/admin',
      copies: 0,
      conflicts: 0,
    });
    const path = `/acme/shares/${made.body.share_id}`;
    expect([made.status, made.headers.location]).toEqual([
      201,
      `/api/tenants${path}`,
    ]);
    const changed = await admin.patch(path, { targets: 'all', position: 1 });
    expect(changed.body).toEqual({
      ...made.body,
      targets: 'all',
      position: 1,
      updated_at: expect.any(String),
    });
    const list = await admin.get('/acme/shares');
    expect(list.body).toEqual({ shares: [changed.body], received: [] });
    expect((await admin.delete(path)).status).toBe(204);
    // Made again, because the answer was lost.
    for (const owner of ['group:default/lost', null]) {
      await admin
        .post('/acme/shares', { ...share, owner })
        .set('Idempotency-Key', 'a key');
    }
    const ofGlobex = await admin
      .post('/globex/shares', { ...share, targets: 'all' })
      .set('Idempotency-Key', 'a key');
    expect(ofGlobex.status).toBe(201);
    const { shares } = (await admin.get('/acme/shares')).body;
    expect(shares).toEqual([expect.objectContaining({ owner: null })]);
    await admin.delete(`/acme/shares/${shares[0].share_id}`);
    expect((await admin.get('/acme/shares')).body.shares).toEqual([]);
  });

  it.each<[string, string, object, string]>([
    [
      'no target',
      '/acme',
      { ...share, targets: [] },
      'targets must be "all" or a list of 1 to 1000 slugs',
    ],
    [
      'the default tenant as a target',
      '/acme',
      { ...share, targets: ['default'] },
      'got "default"',
    ],
    [
      'its own tenant as a target',
      '/acme',
      { ...share, targets: ['acme'] },
      'got "acme"',
    ],
    [
      'a deleted target',
      '/acme',
      { ...share, targets: ['globex', 'gone'] },
      'got "gone"',
    ],
    [
      'an operator as a key',
      '/acme',
      { ...share, filter: ['$not=a'] },
      'texts such as kind=template',
    ],
    [
      'an owner that is no reference',
      '/acme',
      { ...share, owner: 'a/b/c' },
      'owner must be the reference of an entity',
    ],
    [
      'another field',
      '/acme',
      { ...share, tenant_id: 'a' },
      'unknown field "tenant_id"',
    ],
  ])('with %s are refused', async (_what, slug, body, message) => {
    const refused = await admin.post(`${slug}/shares`, body);
    expect([refused.status, refused.body.error.message]).toEqual([
      400,
      expect.stringContaining(message),
    ]);
  });

  it('of another tenant, or without an id, are not there', async () => {
    const { body } = await admin.post('/acme/shares', share);
    for (const path of [
      `/globex/shares/${body.share_id}`,
      `/acme/shares/${NO_SHARE}`,
      '/acme/shares/no-uuid',
      '/acme/shares/%00',
    ]) {
      expect((await admin.patch(path, { position: 1 })).status).toBe(404);
      expect((await admin.delete(path)).status).toBe(404);
    }
    expect((await admin.get('/acme/shares')).body.shares).toHaveLength(1);
  });

  it('leave what was done in the audit log', async () => {
    const { body } = await admin.post('/acme/shares', share);
    const path = `/acme/shares/${body.share_id}`;
    await admin.patch(path, { position: 1 });
    await admin.delete(path);
    const ofShare = { slug: 'acme', share: body.share_id };
    expect(audited).toEqual(
      expect.arrayContaining([
        { eventId: 'create-tenant-share', slug: 'acme', ...share },
        { eventId: 'update-tenant-share', ...ofShare, position: 1 },
        { eventId: 'delete-tenant-share', ...ofShare },
      ]),
    );
  });

  it('are at most 100 of a tenant', async () => {
    await database.client.query(
      `insert into tenant_shares (tenant_id, filter, position, created_by)
       select tenant_id, '{kind=api}', 1, 'test' from tenants, generate_series(1, 100)
        where tenant_slug = 'acme'`,
    );
    const refused = await admin.post('/acme/shares', share);
    expect(refused.status).toBe(409);
    await database.client.query(
      `delete from tenant_shares where share_id in (select share_id from tenant_shares limit 5)`,
    );
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => admin.post('/acme/shares', share)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([
      ...Array(5).fill(201),
      ...Array(15).fill(409),
    ]);
  });
});
