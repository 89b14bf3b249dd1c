import { createTestDatabases } from '@internal/postgres/testUtils';
import { inspect } from 'node:util';
import {
  startTenantsBackend,
  tellingAuditor,
  type TenantsBackend,
} from '../__testUtils__/startTenantsBackend';
import { TenancyDatabase } from '../__testUtils__/TenancyDatabase';

const databases = createTestDatabases({ versions: 'newest' });

const JANE = 'user:default/jane';
const PROVIDER = {
  issuer: 'https://id.example.com/acme',
  client_id: 'portal',
  client_secret: '${ACME_SIGN_IN}',
};

describe.each(databases.eachSupportedId())(
  "the sign-in of a tenant's own on %s",
  id => {
    let database: TenancyDatabase;
    let backend: TenantsBackend;
    const audited = jest.fn();

    beforeAll(async () => {
      database = await TenancyDatabase.create(databases, id);
      backend = await startTenantsBackend({
        pool: database.createPool(),
        features: [tellingAuditor(audited)],
      });
    });
    afterAll(() => database.close());
    beforeEach(async () => {
      audited.mockReset();
      await database.empty();
      await database.client.query(
        `insert into tenants (tenant_slug, tenant_name, deleted_at)
         values ('acme', 'Acme', null), ('development', 'Dev', null);
         insert into tenant_members (tenant_id, principal, role, created_by)
         select tenant_id, '${JANE}', 'admin', 'x' from tenants where tenant_slug = 'acme'`,
      );
    });

    it('is put, read, replaced and removed by the admins of the tenant', async () => {
      const jane = backend.user(JANE);
      const none = await jane.get('/acme/sign-in');
      expect([none.status, none.body]).toEqual([200, null]);
      for (const more of [
        { auto_join: 'viewer', allowed_domains: ['Example.com'] },
        { roles: { staff: 'member' }, name_claim: 'nickname' },
      ]) {
        const { status, body } = await jane.put('/acme/sign-in', {
          ...PROVIDER,
          ...more,
        });
        expect([status, body]).toEqual([
          200,
          {
            ...PROVIDER,
            ...more,
            ...('allowed_domains' in more && {
              allowed_domains: ['example.com'],
            }),
            updated_by: JANE,
            updated_at: expect.any(String),
          },
        ]);
        expect((await jane.get('/acme/sign-in')).body).toEqual(body);
      }
      expect((await jane.delete('/acme/sign-in')).status).toBe(204);
      expect((await jane.delete('/acme/sign-in')).status).toBe(404);
    });

    it.each(['default', 'development'])(
      'is none of the tenant %s, in whose namespace others are',
      async slug => {
        const { status } = await backend.admin.put(
          `/${slug}/sign-in`,
          PROVIDER,
        );
        expect(status).toBe(409);
      },
    );

    it.each([
      ['client_secret', 's3cret'],
      ['client_secret', 'x${ACME_SIGN_IN}'],
      ['client_secret', { $file: '../other/secret' }],
      ['client_secret', { $env: 'PATH' }],
      ['issuer', 'file:///etc/passwd'],
      ['issuer', 'https://user:password@id.example.com'],
      ['issuer', 'https://id.example.com?x=1'],
      ['auto_join', 'owner'],
      ['roles', { staff: 'owner' }],
      ['roles', JSON.parse('{"__proto__":"admin"}')],
      ['allowed_domains', ['*']],
      ['scopes', ['a b']],
      ['namespace', 'default'],
    ])('refuses %s as %j', async (field, value) => {
      const { status, body } = await backend.admin.put('/acme/sign-in', {
        ...PROVIDER,
        [field]: value,
      });
      expect([status, body.error.message]).toEqual([
        400,
        expect.stringMatching(`^Invalid sign-in: .*${field}`),
      ]);
      // Somebody may have sent the secret itself.
      expect(inspect(audited.mock.calls, { depth: 9 })).not.toContain('s3cret');
      expect((await backend.admin.get('/acme/sign-in')).body).toBeNull();
    });
  },
);
