import { mockCredentials } from '@backstage/backend-test-utils';
import { createTestDatabases } from '@internal/postgres/testUtils';
import {
  startTenantsBackend,
  type TenantsBackend,
} from '../__testUtils__/startTenantsBackend';
import { TenancyDatabase } from '../__testUtils__/TenancyDatabase';

const databases = createTestDatabases({ versions: 'newest' });

describe.each(databases.eachSupportedId())('the use by day on %s', id => {
  let database: TenancyDatabase;
  let backend: TenantsBackend;
  beforeAll(async () => {
    database = await TenancyDatabase.create(databases, id);
    backend = await startTenantsBackend({ pool: database.createPool() });
    await database.fill({ acme: { 'user:default/jane': 'admin' } });
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
  const DAYS = 'from=2026-01-02&to=2026-01-03';

  it('is for the admins of the tenant, as JSON and as CSV', async () => {
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
});
