import {
  coreServices,
  createBackendPlugin,
} from '@backstage/backend-plugin-api';
import { startTestBackend } from '@backstage/backend-test-utils';
import { createTestDatabases } from '@internal/postgres/testUtils';
import { Router } from 'express';
import {
  createTenancyDatabase,
  type TenancyDatabase,
} from '../__testUtils__/tenancyDatabase';
import { retryAfter } from '../pool/errors';
import { PooledTenantDatabase } from './PooledTenantDatabase';
import type { TenancyPool } from '../pool/TenancyPool';

const databases = createTestDatabases({ versions: 'newest' });

describe.each(databases.eachSupportedId())('Over HTTP with %s', id => {
  let database: TenancyDatabase;
  let pool: TenancyPool;
  let tenant: string;
  let url: string;
  let stop: () => Promise<void>;
  beforeAll(async () => {
    database = await createTenancyDatabase(databases, id);
    pool = database.createPool({
      limits: {
        max: 1,
        connectionTimeoutMs: 1_000,
        statementTimeoutMs: 500,
      },
    });
    tenant = await database.createTenant();
    const tenants = new PooledTenantDatabase(pool);
    const plugin = createBackendPlugin({
      pluginId: 'test',
      register(env) {
        env.registerInit({
          deps: { http: coreServices.httpRouter },
          async init({ http }) {
            const router = Router();
            router.get('/', (request, response, next) => {
              const sql = String(request.query.sql);
              tenants
                .query(tenant, ({ knex }) => knex.raw(sql))
                .then(rows => response.json(rows), next);
            });
            router.use(retryAfter());
            http.use(router);
          },
        });
      },
    });
    const backend = await startTestBackend({
      features: [plugin],
    });
    url = `http://localhost:${backend.server.port()}/api/test`;
    stop = () => backend.stop();
  });
  afterAll(async () => {
    await stop();
    await database.close();
  });

  const get = (sql: string) => fetch(`${url}?sql=${encodeURIComponent(sql)}`);

  it('a statement that fails tells nothing of itself, nor of any data', async () => {
    for (const [sql, message] of [
      [
        `select 'hidden'::uuid`,
        'The database refused a statement (SQLSTATE 22P02)',
      ],
      [
        `select hidden from tenants`,
        'The database refused a statement (SQLSTATE 42703)',
      ],
      [
        `insert into entities (tenant_id, entity_ref, entity_kind, entity_name, final_entity, hash)
         values ('${'1'.repeat(
           8,
         )}-1111-1111-1111-111111111111', 'a:default/hidden', 'a', 'hidden', '{}', 'h')`,
        'new row violates row-level security policy for table "entities"',
      ],
      [
        `insert into entities (tenant_id, entity_ref, entity_kind, entity_name, final_entity, hash)
         select 'hidden'`,
        'The database refused a statement (SQLSTATE 42601)',
      ],
    ]) {
      const response = await get(sql);
      expect(response.status).toBe(500);
      expect(response.headers.get('retry-after')).toBeNull();
      const { error } = (await response.json()) as { error: object };
      expect(error).toEqual({ name: 'DatabaseStatementError', message });
    }
  });
});
