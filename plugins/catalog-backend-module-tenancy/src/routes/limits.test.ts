import { mockCredentials } from '@backstage/backend-test-utils';
import { component } from '@internal/catalog-testing/entities';
import {
  type CatalogBackend,
  startCatalogBackend,
} from '@internal/catalog-testing/startCatalogBackend';
import { takeServices } from '@internal/catalog-testing/takeServices';
import { createTenancyDatabase } from '@internal/catalog-testing/tenancyDatabase';
import { createTestDatabases, waitUntil } from '@internal/postgres/testUtils';
import {
  TenantBusyError,
  type Tenancy,
  tenancyServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';
import { Client } from 'pg';

const databases = createTestDatabases({ versions: 'newest' });

const PATHS = [
  '/entities/by-name/component/default/a',
  '/entities',
  '/entities?limit=1',
  '/entities/by-query',
  '/entity-facets?facet=kind',
];

describe.each(databases.eachSupportedId())(
  'requests of tenants with limits on %s',
  id => {
    let backend: CatalogBackend;
    let tenancy: Tenancy;
    let client: Client;
    let locking: Client;
    const ids = new Map<string, string>();

    beforeAll(async () => {
      const connection = await createTenancyDatabase(databases, id);
      [client, locking] = [new Client(connection), new Client(connection)];
      await Promise.all([client.connect(), locking.connect()]);
      const taken = takeServices({ tenancy: tenancyServiceRef });
      backend = await startCatalogBackend({
        connection,
        enabled: true,
        config: {
          tenancy: {
            limits: { concurrency: 1, queue: 0 },
            // Nothing but a cancellation ends a statement that waits.
            database: { pool: { statementTimeoutMs: 3_600_000 } },
          },
        },
        features: [taken.feature],
      });
      tenancy = taken.services.tenancy;
      for (const slug of ['noisy', 'quiet']) {
        ids.set(slug, await backend.createTenant(slug, [component('a')]));
      }
    });
    afterAll(() => Promise.all([client.end(), locking.end()]));

    it.each(PATHS)(
      'are answered with 429 and Retry-After, at %s, and not those of others',
      async path => {
        await tenancy.pool.transaction(
          { tenantId: ids.get('noisy') },
          async () => {
            const refused = await backend.as('noisy').get(path);
            expect(refused.status).toBe(429);
            expect(refused.get('Retry-After')).toBe('1');
            expect(refused.body.error).toEqual({
              name: 'TenantBusyError',
              message:
                'The tenant has too many requests under way at the moment: send this one again later',
            });
            expect((await backend.as('quiet').get(path)).status).toBe(200);
          },
        );
        expect((await backend.as('noisy').get(path)).status).toBe(200);
      },
    );

    it('are answered as the limits say that the registry gives the tenant meanwhile, without a restart', async () => {
      const path = '/entities?limit=1';
      /** The status of a request beside so many transactions, the last of which may be refused. */
      const statusWhile = async (
        slug: string,
        running: number,
      ): Promise<number> => {
        if (running === 0) {
          return (await backend.as(slug).get(path)).status;
        }
        try {
          return await tenancy.pool.transaction(
            { tenantId: ids.get(slug) },
            () => statusWhile(slug, running - 1),
          );
        } catch (error) {
          if (error instanceof TenantBusyError) {
            return 429;
          }
          throw error;
        }
      };
      expect(await statusWhile('noisy', 1)).toBe(429);

      await backend.tenants.update('noisy', { concurrency: 3 });
      await waitUntil(
        'the limit of the tenant to be raised',
        async () => (await statusWhile('noisy', 2)) === 200,
      );
      expect(await statusWhile('noisy', 3)).toBe(429);
      expect(await statusWhile('quiet', 1)).toBe(429);
      // Mutations count, and are counted.
      await tenancy.pool.transaction(
        { tenantId: ids.get('quiet') },
        async () => {
          await expect(
            backend.write(ids.get('quiet')!, {
              type: 'delta',
              added: [component('b')],
              removed: [],
            }),
          ).rejects.toThrow(TenantBusyError);
        },
      );

      await backend.tenants.update('noisy', { requests_per_second: 1000 });
      await waitUntil('requests to be counted', async () => {
        const { headers } = await backend.as('noisy').get(path);
        return /q=1000; w=1;/.test(headers['ratelimit-policy']);
      });
      const { headers } = await backend.as('quiet').get(path);
      expect(headers['ratelimit-policy']).toBeUndefined();

      await backend.tenants.update('noisy', {
        concurrency: null,
        requests_per_second: null,
      });
      await waitUntil(
        'the limit of all tenants to be back',
        async () => (await statusWhile('noisy', 1)) === 429,
      );
      const back = await backend.as('noisy').get(path);
      expect(back.headers['ratelimit-policy']).toBeUndefined();
    });

    it('are cancelled in PostgreSQL when the client closes the connection', async () => {
      const waiting = async () => {
        const { rows } = await client.query(
          `select from pg_stat_activity
            where usename = 'portal_app' and datname = current_database()
              and state = 'active' and wait_event_type = 'Lock'`,
        );
        return rows.length;
      };
      // ACCESS EXCLUSIVE, which all reads wait for, until the end of this test.
      await locking.query(
        `begin; lock table tenancy.entity_terms, tenancy.entities`,
      );
      try {
        const caller = new AbortController();
        const asked = fetch(
          `http://localhost:${backend.server.port()}/api/catalog/entity-facets?facet=kind`,
          {
            headers: {
              Authorization: mockCredentials.user.header(),
              'X-Tenant-Slug': 'quiet',
            },
            signal: caller.signal,
          },
        );
        await waitUntil('the statement to wait', waiting);
        caller.abort();
        await expect(asked).rejects.toThrow(/abort/);
        await waitUntil('the statement to end', async () => !(await waiting()));
      } finally {
        await locking.query('rollback');
      }
      // PostgreSQL has ended the statement a moment before the backend hears of it and gives the
      // tenant's only place back.
      await waitUntil(
        'the place to be free',
        async () => (await backend.as('quiet').get('/entities')).status === 200,
      );
    });
  },
);
