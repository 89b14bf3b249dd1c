import { createServiceFactory } from '@backstage/backend-plugin-api';
import { mockCredentials } from '@backstage/backend-test-utils';
import { createTestDatabases } from '@internal/postgres/testUtils';
import {
  type TenantAuditTrail,
  tenantAuditTrailServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';
import {
  startTenantsBackend,
  type TenantsBackend,
} from '../__testUtils__/startTenantsBackend';
import { TenancyDatabase } from '../__testUtils__/TenancyDatabase';

const databases = createTestDatabases({ versions: 'newest' });

describe.each(databases.eachSupportedId())(
  'what is recorded of a tenant, on %s',
  id => {
    let database: TenancyDatabase;
    let backend: TenantsBackend;

    beforeAll(async () => {
      database = await TenancyDatabase.create(databases, id);
      backend = await startTenantsBackend({ pool: database.createPool() });
      await database.fill({ acme: { 'user:default/jane': 'admin' } });
      await database.client.query(
        `insert into tenant_audit (tenant_id, event_id, at, plugin, event, severity, actor, outcome)
       select tenant_id, gen_random_uuid(), now() - make_interval(secs => n), 'tenants',
              'of-' || tenant_slug, 'medium', 'user:default/jane', 'succeeded'
         from tenants, generate_series(1, 700) n where tenant_slug <> 'default'`,
      );
      await database.client.query(
        `insert into tenant_usage (tenant_id, day, requests, database_ms, people, entities, bytes)
       select tenant_id, day::date, 5, 7, 2, '{"component": 3, "=odd \\"kind\\"": 1}', 400
         from tenants, generate_series('2026-01-01', '2026-01-03', interval '1 day') day`,
      );
    });
    afterAll(async () => {
      await backend?.stop();
      await database?.close();
    });

    const jane = mockCredentials.user.header('user:default/jane');

    it('lists the audit trail for the admins of the tenant, and for administrators of all', async () => {
      const { body } = await backend.as(jane).get('/acme/audit?limit=2');
      expect(body.items.map((each: { event: string }) => each.event)).toEqual([
        'of-acme',
        'of-acme',
      ]);
      expect((await backend.admin.get('/gone/audit')).body.items).toHaveLength(
        100,
      );
      const refused = await backend.alice.get('/acme/audit');
      expect([refused.status, refused.body.error.message]).toEqual([
        403,
        'You may not read the audit trail of this tenant: only its admins and administrators in tenancy.admins may',
      ]);
      expect((await backend.admin.get('/nobody/audit')).status).toBe(404);
      for (const query of [
        'format=csv',
        'limit=x',
        'to=9999-12-31T23:00:00-14:00',
        ...[
          `2026-01-01T00:00:00.000Z ${'a'.repeat(36)}`,
          '2026-02-31T00:00:00.000Z 00000000-0000-0000-0000-000000000001',
          '0000-01-01T00:00:00.000Z 00000000-0000-0000-0000-000000000001',
        ].map(text => `cursor=${Buffer.from(text).toString('base64url')}`),
      ]) {
        const { status } = await backend.admin.get(`/acme/audit?${query}`);
        expect([query, status]).toEqual([query, 400]);
      }
    });

    it('has all of the audit trail as JSON lines', async () => {
      const read = (path: string) =>
        backend
          .as(jane)
          .get(path)
          .buffer(true)
          .parse((res, done) => {
            let text = '';
            res.on('data', chunk => (text += chunk));
            res.on('end', () => done(null, text));
          });
      const asked = await read('/acme/audit?format=jsonl');
      expect(asked.headers['content-type']).toContain('application/jsonl');
      const lines = (asked.body as string).trimEnd().split('\n');
      expect(new Set(lines.map(line => JSON.parse(line).id)).size).toBe(700);
    });

    it('has the audit trail in the client', async () => {
      const { client } = backend;
      const page = await client.listAudit(
        'acme',
        { actor: 'jane', limit: 1 },
        { token: jane.replace('Bearer ', '') },
      );
      expect(page).toMatchObject({
        items: [{ event: 'of-acme', outcome: 'succeeded' }],
        next_cursor: expect.any(String),
      });
    });

    const DAYS = 'from=2026-01-02&to=2026-01-03';

    it('has the use by day for the admins of the tenant, as JSON and as CSV', async () => {
      const { body } = await backend.as(jane).get(`/acme/usage?${DAYS}`);
      expect(body).toEqual(
        ['2026-01-02', '2026-01-03'].map(day => ({
          day,
          requests: 5,
          database_ms: 7,
          people: 2,
          entities: { component: 3, '=odd "kind"': 1 },
          bytes: 400,
        })),
      );
      const csv = await backend.as(jane).get(`/acme/usage?${DAYS}&format=csv`);
      expect(csv.headers['content-type']).toContain('text/csv');
      expect(csv.text).toBe(
        'day,requests,database_ms,people,bytes,"entities_=odd ""kind""",entities_component\r\n' +
          '2026-01-02,5,7,2,400,1,3\r\n2026-01-03,5,7,2,400,1,3\r\n',
      );
      for (const query of [
        ...['from=x', 'to=0000-01-02', 'to=0001-01-02', 'format=jsonl'],
      ]) {
        const { status } = await backend.as(jane).get(`/acme/usage?${query}`);
        expect([query, status]).toEqual([query, 400]);
      }
      expect((await backend.as(jane).get('/acme/usage')).body).toMatchObject({
        live_entities: 0,
      });
    });

    it('sends the audit trail no further to an admin who is removed meanwhile', async () => {
      const list = jest.fn(async () => {
        await database.client.query('delete from tenant_members');
        return { items: [{ id: '1' }], next_cursor: 'next' };
      });
      const other = await startTenantsBackend({
        pool: database.createPool(),
        features: [
          createServiceFactory({
            service: tenantAuditTrailServiceRef,
            deps: {},
            factory: () => ({ list } as unknown as TenantAuditTrail),
          }),
        ],
      });
      await expect(
        other.as(jane).get('/acme/audit?format=jsonl'),
      ).rejects.toThrow('aborted');
      expect(list).toHaveBeenCalledTimes(1);
      await other.stop();
    });
  },
);
