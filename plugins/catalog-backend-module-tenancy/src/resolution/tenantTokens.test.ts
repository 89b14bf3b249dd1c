import { authServiceFactory } from '@backstage/backend-defaults/auth';
import { httpAuthServiceFactory } from '@backstage/backend-defaults/httpAuth';
import { permissionsServiceFactory } from '@backstage/backend-defaults/permissions';
import type { JsonObject } from '@backstage/types';
import { createTestDatabases } from '@internal/postgres/testUtils';
import { DEFAULT_TENANT_ID } from 'backstage-plugin-catalog-tenancy-node';
// The plugin itself, which a tenant's token is to be kept from.
// eslint-disable-next-line @backstage/no-mixed-plugin-imports
import tenantsPlugin from 'backstage-plugin-tenants-backend';
import { Client, type ClientConfig } from 'pg';
import request from 'supertest';
import { component } from '@internal/catalog-testing/entities';
import { insertEntities } from '@internal/catalog-testing/insertEntities';
import {
  type CatalogBackend,
  startCatalogBackend,
} from '@internal/catalog-testing/startCatalogBackend';
import { createTenancyDatabase } from '@internal/catalog-testing/tenancyDatabase';
import { SECRET, sign } from './__testUtils__/tokens';

const databases = createTestDatabases({ versions: 'newest' });

const READ = 'catalog.entity.read';
const CREATE_LOCATION = 'catalog.location.create';
const SHARED = '/entities/by-name/component/default/shared';
const PATIENCE_MS = 120_000;

// Nothing of this depends on the version of the database.
describe.each(databases.eachSupportedId().slice(-1))(
  "a tenant's token, as far as its entry lets it, on %s",
  id => {
    let connection: ClientConfig;

    beforeAll(async () => {
      connection = await createTenancyDatabase(databases, id);
      await insertEntities(connection, DEFAULT_TENANT_ID, [
        component('shared'),
      ]);
    });

    /** A backend whose entry of type `tenant` is restricted to that. */
    const start = async (
      accessRestrictions: JsonObject[],
      options: JsonObject = {},
      tenancy: JsonObject = {},
    ) => {
      const backend = await startCatalogBackend({
        connection,
        enabled: true,
        features: [
          authServiceFactory,
          httpAuthServiceFactory,
          permissionsServiceFactory,
          tenantsPlugin,
        ],
        config: {
          backend: {
            auth: {
              externalAccess: [{ type: 'tenant', options, accessRestrictions }],
            },
          },
          // Another service, by the same name.
          tenancy: {
            jwtSecret: SECRET,
            admins: ['external:acme'],
            ...tenancy,
          },
        },
      });
      const tenant =
        (await backend.tenants.get('acme')) ??
        (await backend.tenants.create({
          tenant_slug: 'acme',
          tenant_name: 'acme',
        }));
      await backend.write(tenant.tenant_id, {
        type: 'full',
        entities: [component('shared')],
      });
      return backend;
    };

    const call = (
      { server }: CatalogBackend,
      tenantSlug: string,
      method: 'get' | 'post' | 'patch' | 'delete',
      path: string,
      body?: object,
    ) =>
      request(server)
        [method](`/api${path}`)
        .set('Authorization', `Bearer ${sign({ tenantSlug })}`)
        .send(body);

    /** What the token of `slug` gets to see, and whether it may register a location. */
    const rightsOf = async (backend: CatalogBackend, slug: string) => {
      const list = await call(backend, slug, 'get', '/catalog/entities');
      const entity = await call(backend, slug, 'get', `/catalog${SHARED}`);
      const location = await call(backend, slug, 'post', '/catalog/locations', {
        type: 'url',
        target: 'http://localhost:1/catalog-info.yaml',
      });
      return {
        listed: list.body.length,
        entity: entity.status,
        location: location.status,
      };
    };

    it('does what each `permission` of its accessRestrictions is for, and nothing else', async () => {
      const reads = await start([{ plugin: 'catalog', permission: [READ] }]);
      for (const slug of ['acme', 'default']) {
        await expect(rightsOf(reads, slug)).resolves.toEqual({
          listed: 1,
          entity: 200,
          location: 403,
        });
      }
      await reads.stop();

      const registers = await start([
        { plugin: 'catalog', permission: [CREATE_LOCATION] },
      ]);
      await expect(rightsOf(registers, 'default')).resolves.toEqual({
        listed: 0,
        entity: 404,
        location: 201,
      });
      await expect(rightsOf(registers, 'acme')).resolves.toEqual({
        listed: 0,
        entity: 404,
        location: 403,
      });
      await registers.stop();
    });

    it('reads its tenant also by another subjectPrefix, where membership is required', async () => {
      const backend = await start(
        [{ plugin: 'catalog', permission: [READ] }],
        { subjectPrefix: 'ci' },
        { membership: 'required' },
      );
      await expect(rightsOf(backend, 'acme')).resolves.toEqual({
        listed: 1,
        entity: 200,
        location: 403,
      });
      await backend.stop();
    });

    it.each<[string, JsonObject[], string]>([
      [
        'restricted to the catalog',
        [{ plugin: 'catalog' }],
        "restricted to plugin(s) 'catalog'",
      ],
      [
        'let into the plugin of tenants',
        [{ plugin: 'catalog' }, { plugin: 'tenants' }],
        'only administrators in tenancy.admins may',
      ],
    ])(
      'administers no tenants: 403 at /api/tenants, %s',
      async (_title, accessRestrictions, message) => {
        const backend = await start(accessRestrictions);
        for (const slug of ['acme', 'default']) {
          for (const answer of [
            await call(backend, slug, 'get', '/tenants'),
            await call(backend, slug, 'post', '/tenants', {
              tenant_slug: 'mine',
              tenant_name: 'Mine',
            }),
            await call(backend, slug, 'get', `/tenants/${slug}`),
            await call(backend, slug, 'patch', `/tenants/${slug}`, {
              max_entities: 1_000_000,
            }),
            await call(backend, slug, 'delete', '/tenants/acme'),
          ]) {
            expect(answer.status).toBe(403);
            expect(answer.body.error.message).toContain(message);
          }
        }
        await expect(backend.tenants.get('mine')).resolves.toBeUndefined();
        await expect(backend.tenants.get('acme')).resolves.toMatchObject({
          max_entities: 50_000,
          deleted_at: null,
        });
        await backend.stop();
      },
    );

    const EVERYWHERE = [{ plugin: 'catalog' }, { plugin: 'tenants' }];

    /** What a plugin of tenants and one that knows none say to a token. */
    const statuses = async (backend: CatalogBackend, slug: string) => [
      (await call(backend, slug, 'get', `/catalog${SHARED}`)).status,
      (await call(backend, slug, 'get', `/tenants/${slug}`)).status,
    ];

    const untilStatuses = async (
      backend: CatalogBackend,
      slug: string,
      expected: number[],
    ) => {
      const seen = new Set<number>();
      const deadline = Date.now() + PATIENCE_MS;
      for (;;) {
        const now = await statuses(backend, slug);
        now.forEach(status => seen.add(status));
        if (now.join() === expected.join() || Date.now() > deadline) {
          expect(now).toEqual(expected);
          return seen;
        }
      }
    };

    it('counts in no plugin for a tenant that never was or is deleted: 401, at once in the process that deletes it', async () => {
      const backend = await start(EVERYWHERE);
      await expect(statuses(backend, 'nobody')).resolves.toEqual([401, 401]);
      await expect(statuses(backend, 'acme')).resolves.toEqual([200, 403]);
      await backend.tenants.delete('acme');
      await expect(statuses(backend, 'acme')).resolves.toEqual([401, 401]);
      await backend.tenants.restore('acme');
      await expect(statuses(backend, 'acme')).resolves.toEqual([200, 403]);
      await backend.stop();
    });

    it('is neither good nor bad while the database cannot be asked: 503', async () => {
      const superuser = new Client(connection);
      await superuser.connect();
      const backend = await start(EVERYWHERE);
      await expect(statuses(backend, 'acme')).resolves.toEqual([200, 403]);
      try {
        await superuser.query(
          `revoke connect on database "${connection.database}" from public`,
        );
        await superuser.query(
          `select pg_terminate_backend(pid) from pg_stat_activity
            where usename = 'portal_app' and datname = current_database()`,
        );
        const seen = await untilStatuses(backend, 'acme', [503, 503]);
        expect([...seen]).not.toContain(401);
        await expect(statuses(backend, 'nobody')).resolves.toEqual([503, 503]);
      } finally {
        await superuser.query(
          `grant connect on database "${connection.database}" to public`,
        );
        await superuser.end();
      }
      await untilStatuses(backend, 'acme', [200, 403]);
      await backend.stop();
    });
  },
);
