import { mockServices } from '@backstage/backend-test-utils';
import { createTestDatabases } from '@internal/postgres/testUtils';
import {
  AuditedAdminDatabase,
  RegistrySnapshot,
  PooledTenantDatabase,
  PostgresTenantStore,
  TenancyPool,
  type TenantDirectory,
} from 'backstage-plugin-catalog-tenancy-node';
import { Client, type ClientConfig } from 'pg';
import {
  APPLICATION,
  createTenancyDatabase,
} from '@internal/catalog-testing/tenancyDatabase';
import { TENANT_IDS } from './__testUtils__/InMemoryTenants';
import { outcomeOf, REFUSED } from './__testUtils__/outcomeOf';
import type { Answer } from './__testUtils__/send';
import {
  startTenantBackend,
  type TenantBackend,
} from './__testUtils__/startTenantBackend';
import { sign } from './__testUtils__/tokens';

const databases = createTestDatabases({ versions: 'newest' });

const HOST = 'portal.example';
const logger = mockServices.logger.mock();

describe.each(databases.eachSupportedId())('the registry on %s', id => {
  const closing: Array<() => Promise<void>> = [];
  let connection: ClientConfig;
  let superuser: Client;
  let store: PostgresTenantStore;
  let backend: TenantBackend;

  /** A directory of the application, closed when the tests are over. */
  function createDirectory(
    options: Partial<ClientConfig> & { schema?: string },
  ) {
    const { schema = 'tenancy', ...differences } = options;
    const pool = TenancyPool.create({
      connection: { ...connection, ...APPLICATION, ...differences },
      schema,
      pool: { max: 2, idleTimeoutMs: 30_000, connectionTimeoutMs: 10_000 },
      logger,
    });
    const directory = RegistrySnapshot.create({ pool, logger });
    closing.push(async () => {
      await directory.close();
      await pool.close();
    });
    return { directory, pool };
  }

  beforeAll(async () => {
    connection = await createTenancyDatabase(databases, id);
    superuser = new Client(connection);
    await superuser.connect();
    await superuser.query(
      `insert into tenancy.tenants (tenant_id, tenant_slug, tenant_name, deleted_at)
       values ($1, 'acme', 'Acme', null), ($2, 'globex', 'Globex', null),
              ($3, 'initech', 'Initech', now())`,
      [TENANT_IDS.acme, TENANT_IDS.globex, TENANT_IDS.initech],
    );
    const { directory, pool } = createDirectory({});
    store = new PostgresTenantStore({
      pool,
      directory,
      database: new PooledTenantDatabase(pool),
      admin: new AuditedAdminDatabase({
        pool,
        auditor: mockServices.auditor.mock({
          createEvent: async () => ({
            success: async () => {},
            fail: async () => {},
          }),
        }),
      }),
    });
    backend = await startTenantBackend({ directory });
  });

  afterAll(async () => {
    await superuser.end();
    await Promise.all(closing.map(close => close()));
  });

  const of = (tenantSlug: string) => ({
    hostname: { host: `${tenantSlug}.${HOST}` },
    token: { host: HOST, authorization: `Bearer ${sign({ tenantSlug })}` },
    header: { host: HOST, 'x-tenant-slug': tenantSlug },
  });

  it('does not tell a deleted tenant from one that there never was, nor from no slug', async () => {
    const answers = [];
    for (const tenantSlug of ['initech', 'unknown', 'not_a_slug']) {
      for (const headers of Object.values(of(tenantSlug))) {
        const answer = await backend.get(headers);
        expect(outcomeOf(answer)).toBe(REFUSED);
        const { date: _, ...others } = answer.headers;
        answers.push({ ...answer, headers: others });
      }
    }
    for (const answer of answers) {
      expect(answer).toEqual(answers[0]);
    }
  });

  it('stops to have a tenant at once when it is deleted, until it is restored', async () => {
    const { hostname } = of('globex');
    expect(outcomeOf(await backend.get(hostname))).toBe('globex');
    await store.delete('globex');
    expect(outcomeOf(await backend.get(hostname))).toBe(REFUSED);
    await store.restore('globex');
    expect(outcomeOf(await backend.get(hostname))).toBe('globex');
  });

  it('that the application may not read makes for 500, and for no tenant', async () => {
    const { directory } = createDirectory({});
    await superuser.query('revoke select on tenancy.tenants from portal_app');
    try {
      for (const answer of await askEachWay(directory)) {
        expect(answer.status).toBe(500);
        expect(answer.text).toContain('permission denied');
        expect(answer.text).not.toMatch(/tenantId|select/i);
      }
    } finally {
      await superuser.query('grant select on tenancy.tenants to portal_app');
    }
  });

  async function askEachWay(directory: TenantDirectory): Promise<Answer[]> {
    const { get } = await startTenantBackend({ directory });
    return Promise.all([{ host: HOST }, ...Object.values(of('acme'))].map(get));
  }
});
