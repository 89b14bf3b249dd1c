import { schedulerServiceFactory } from '@backstage/backend-defaults/scheduler';
import {
  AuthorizeResult,
  type PolicyDecision,
} from '@backstage/plugin-permission-common';
// The stock plugins, of which tenants have instances.
// eslint-disable-next-line @backstage/no-mixed-plugin-imports
import searchPlugin from '@backstage/plugin-search-backend';
import searchOfCatalog from '@backstage/plugin-search-backend-module-catalog';
import searchInPostgres from '@backstage/plugin-search-backend-module-pg';
import type { JsonObject } from '@backstage/types';
import { component } from '@internal/catalog-testing/entities';
import { insertEntities } from '@internal/catalog-testing/insertEntities';
import { readPolicy } from '@internal/catalog-testing/readPolicy';
import { signedInGuest } from '@internal/catalog-testing/signedInGuest';
import {
  type CatalogBackend,
  startCatalogBackend,
} from '@internal/catalog-testing/startCatalogBackend';
import { takeServices } from '@internal/catalog-testing/takeServices';
import { createTenancyDatabase } from '@internal/catalog-testing/tenancyDatabase';
import {
  createTestDatabases,
  eventually,
  waitUntil,
  withClient,
  withDeadline,
} from '@internal/postgres/testUtils';
import { engineSchemaOf } from 'backstage-catalog-tenancy-migrations';
import {
  DEFAULT_TENANT_ID,
  tenantEngineStoreServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type ClientConfig } from 'pg';
import request from 'supertest';
import {
  catalogModuleTenantEngines,
  enginesServiceFactory,
  tenantEnginesServiceFactory,
} from '../module';
import {
  createNotesPlugin,
  fallThroughModule,
} from './__testUtils__/notesPlugin';
import { digestOfCode, installedPlugins } from './known/installed';
import { featuresOf, onePerTenant } from './onePerTenant';
import { PluginSchemas } from './PluginSchemas';

const GUEST = 'user:default/guest';
const TENANTS = ['default', 'acme', 'initech'];
const databases = createTestDatabases({ versions: 'newest' });

describe.each(databases.eachSupportedId())(
  'a plugin with an instance for each tenant on %s',
  id => {
    const notes = createNotesPlugin();
    const templates = createNotesPlugin('scaffolder');
    const prefix = `one_each_${process.pid}_`;
    const ids = new Map([['default', DEFAULT_TENANT_ID]]);
    let connection: ClientConfig;
    let folder: string;
    let backend: CatalogBackend;
    let authorization: string;
    const taken = takeServices({ engines: tenantEngineStoreServiceRef });
    let decide: () => PolicyDecision = () => ({
      result: AuthorizeResult.ALLOW,
    });

    const send = (tenant: string, method: string, path: string) => {
      const test = request(backend.server).get(`/api/${path}`);
      test.method = method;
      return test
        .set('Authorization', authorization)
        .set('X-Tenant-Slug', tenant);
    };

    const notesOf = async (tenant: string) => {
      const { body } = await send(tenant, 'GET', 'notes').expect(200);
      return body as { notes: string[]; cached: string; heard: string[] };
    };

    const databaseOf = (pluginId: string): ClientConfig => ({
      ...connection,
      password: connection.password,
      database: `${prefix}${pluginId}`,
    });

    const query = async (pluginId: string, sql: string) => {
      return withClient(databaseOf(pluginId), async client => {
        const { rows } = await client.query({ text: sql, rowMode: 'array' });
        return rows.map(([value]) => value as string);
      });
    };

    beforeAll(async () => {
      connection = await createTenancyDatabase(databases, id);
      folder = await mkdtemp(join(tmpdir(), 'one-per-tenant-'));
      await insertEntities(connection, DEFAULT_TENANT_ID, [
        component('website-of-default'),
      ]);
      const guest = signedInGuest(GUEST);
      const schedule = {
        frequency: { seconds: 2 },
        timeout: { minutes: 1 },
        initialDelay: { milliseconds: 100 },
      };
      backend = await startCatalogBackend({
        connection,
        enabled: true,
        config: {
          ...guest.config,
          backend: { database: { prefix }, workingDirectory: folder },
          events: { useEventBus: 'never' },
          search: {
            collators: { catalog: { schedule } },
            // However slow the machine is.
            permissions: { queryLatencyBudgetMs: 60_000 },
          },
          tenancy: {
            admins: [GUEST],
            engines: { secretsDirectory: folder },
            membership: 'required',
          },
        },
        features: [
          ...guest.features,
          readPolicy(() => decide()),
          schedulerServiceFactory,
          searchPlugin,
          searchInPostgres,
          searchOfCatalog,
          notes.plugin,
          templates.plugin,
          fallThroughModule,
          taken.feature,
          enginesServiceFactory,
          tenantEnginesServiceFactory,
          catalogModuleTenantEngines([]),
          ...onePerTenant(
            {
              search: [searchPlugin, searchInPostgres, searchOfCatalog],
              notes: { dataOnlyInDatabase: true, features: [notes.plugin] },
              scaffolder: [templates.plugin],
            },
            { shortestPauseMs: 100, longestPauseMs: 500, checkMs: 200 },
          ),
        ],
      });
      for (const slug of ['acme', 'initech']) {
        const { tenant_id } = await backend.tenants.create({
          tenant_slug: slug,
          tenant_name: slug,
        });
        ids.set(slug, tenant_id);
        await backend.write(tenant_id, {
          type: 'full',
          entities: [component(`website-of-${slug}`)],
        });
      }
      const { body } = await request(backend.server).get(
        '/api/auth/guest/refresh',
      );
      authorization = `Bearer ${body.backstageIdentity.token}`;
    });

    afterAll(() => rm(folder, { recursive: true }));

    const configure = async (tenant: string, config: JsonObject) => {
      await taken.services.engines.putConfig(tenant, config, { by: GUEST });
    };

    it('keeps the rows, the cache and the events of tenants apart', async () => {
      for (const tenant of TENANTS) {
        await send(tenant, 'POST', `notes/by-${tenant}`).expect(201);
      }
      for (const tenant of TENANTS) {
        const own = `by-${tenant}`;
        await eventually(async () =>
          expect(await notesOf(tenant)).toEqual({
            notes: [own],
            cached: own,
            heard: [own],
          }),
        );
      }
      const [schema] = await query(
        'notes',
        `select nspname from pg_namespace where nspname like 'tenant%' order by nspname = '${engineSchemaOf(
          ids.get('acme')!,
        )}_notes' desc`,
      );
      expect(
        await query('notes', `select text from "${schema}".notes`),
      ).toEqual(['by-acme']);
    });

    it('has the calls of an instance be for its tenant', async () => {
      for (const tenant of TENANTS) {
        const { body } = await send(tenant, 'GET', 'notes/entities').expect(
          200,
        );
        expect(body).toEqual([`website-of-${tenant}`]);
      }
    });

    it('schedules the tasks of each tenant by its id', async () => {
      await waitUntil('the tasks of all to have run', () =>
        TENANTS.every(tenant => notes.runs.has(tenant)),
      );
      const tasks = await query(
        'notes',
        `select id from backstage_backend_tasks__tasks where id like '%count'`,
      );
      expect(tasks.sort()).toEqual(
        [
          'count',
          `tenant:${ids.get('acme')}:count`,
          `tenant:${ids.get('initech')}:count`,
        ].sort(),
      );
    });

    it('makes none for a tenant that never asks for it', async () => {
      const { tenant_id } = await backend.tenants.create({
        tenant_slug: 'quiet',
        tenant_name: 'Quiet',
      });
      const before = notes.runs.get('acme') ?? 0;
      await waitUntil(
        'later tasks of another',
        () => (notes.runs.get('acme') ?? 0) > before + 1,
      );
      expect(notes.runs.has('quiet')).toBe(false);
      expect(
        await query(
          'notes',
          `select nspname from pg_namespace where nspname = '${engineSchemaOf(
            tenant_id,
          )}_notes'`,
        ),
      ).toEqual([]);
    });

    it.each(['GET', 'POST', 'OPTIONS'])(
      'answers 404 where the instance has no route, and never from the default tenant: %s',
      async method => {
        for (const path of ['notes/only/default', 'notes/leave/it']) {
          const ofDefault = await send('default', method, path);
          expect(ofDefault.text).toBe('"of the default tenant"');
          const ofAcme = await send('acme', method, path);
          // Express answers OPTIONS with the methods of a route.
          const isRoute = method === 'OPTIONS' && path === 'notes/leave/it';
          expect(ofAcme.status).toBe(isRoute ? 200 : 404);
          expect(ofAcme.text).not.toContain('of the default tenant');
        }
      },
    );

    it('starts an instance whose earlier migration was killed', async () => {
      const { tenant_id } = await backend.tenants.create({
        tenant_slug: 'globex',
        tenant_name: 'Globex',
      });
      await eventually(() =>
        send('globex', 'POST', 'notes/before').expect(201),
      );
      await backend.tenants.delete('globex');
      await send('globex', 'GET', 'notes').expect(403, {
        error: 'Invalid tenant',
      });
      const schema = `${engineSchemaOf(tenant_id)}_notes`;
      await query(
        'notes',
        `update "${schema}".knex_migrations_lock set is_locked = 1 returning 1`,
      );
      await query(
        'notes',
        `delete from "${schema}".knex_migrations where name = '2_author'`,
      );
      await query('notes', `alter table "${schema}".notes drop column author`);
      await backend.tenants.restore('globex');
      await eventually(async () =>
        expect((await notesOf('globex')).notes).toEqual(['before']),
      );
      expect(
        await query('notes', `select count(author) from "${schema}".notes`),
      ).toEqual(['0']);
    });

    it('removes the tables of a purged tenant, which starts with empty ones when it is restored', async () => {
      const { tenant_id } = await backend.tenants.create({
        tenant_slug: 'purged',
        tenant_name: 'Purged',
      });
      await eventually(() =>
        send('purged', 'POST', 'notes/before').expect(201),
      );
      await backend.tenants.delete('purged');
      const schemas = new PluginSchemas({
        connection: databaseOf('notes'),
        pluginId: 'notes',
        tasksSchema: 'public',
      });
      expect(await schemas.list()).toContainEqual({ tenantId: tenant_id });
      await schemas.drop(tenant_id);
      expect(await schemas.list()).not.toContainEqual({ tenantId: tenant_id });
      expect((await notesOf('acme')).notes).toContain('by-acme');
      await backend.tenants.restore('purged');
      await eventually(async () =>
        expect((await notesOf('purged')).notes).toEqual([]),
      );
    });

    it('finds which tenants have work while the tables of one are locked, which counts as one of them', async () => {
      for (const tenant of ['acme', 'initech']) {
        await send(tenant, 'POST', 'notes/work').expect(201);
      }
      const schemas = new PluginSchemas({
        connection: databaseOf('notes'),
        pluginId: 'notes',
        tasksSchema: 'public',
      });
      await withClient(databaseOf('notes'), async client => {
        const schema = schemas.nameOf(ids.get('acme')!);
        await client.query(`begin; lock table "${schema}".notes`);
        const find = async (some?: string[]) => {
          const work = { table: 'notes', where: `text = 'work'` };
          const found = await withDeadline(
            'the tenants',
            schemas.listWithRows(work, some),
          );
          return found.map(({ tenantId }) => tenantId).sort();
        };
        expect(await find()).toEqual(
          [ids.get('acme'), ids.get('initech')].sort(),
        );
        const some = [ids.get('initech')!, DEFAULT_TENANT_ID];
        expect(await find(some)).toEqual([ids.get('initech')]);
        expect(await schemas.list(some)).toEqual([{ tenantId: some[0] }]);
      });
    });

    it('answers 503 with the reason where an instance can not start, and serves all others', async () => {
      notes.broken.add('hooli');
      await backend.tenants.create({
        tenant_slug: 'hooli',
        tenant_name: 'Hooli',
      });
      const answer = await waitUntil('the reason', async () => {
        const got = await send('hooli', 'GET', 'notes');
        return got.text.includes('has failed') ? got : undefined;
      });
      expect(answer.status).toBe(503);
      expect(answer.body.error.message).toBe(
        "The instance of the plugin 'notes' of the tenant 'hooli' has failed: The notes are broken",
      );
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
      await notesOf('acme');
      await eventually(() =>
        send('hooli', 'GET', 'search/query?term=').expect(200),
      );
      notes.broken.delete('hooli');
      await eventually(async () =>
        expect((await notesOf('hooli')).notes).toEqual([]),
      );
    });

    it('starts an instance again for other integrations, and not for other sources of the catalog', async () => {
      for (const slug of ['umbrella', 'soylent']) {
        await backend.tenants.create({ tenant_slug: slug, tenant_name: slug });
        await configure(slug, {});
        await notesOf(slug);
      }
      const target = 'https://example.com/catalog-info.yaml';
      await configure('umbrella', {
        catalog: { locations: [{ type: 'url', target }] },
      });
      await mkdir(join(folder, 'soylent'));
      const secret = join(folder, 'soylent', 'token');
      await writeFile(secret, 'one');
      const token = { $file: 'token' };
      await configure('soylent', {
        integrations: { gitlab: [{ host: 'gitlab.com', token }] },
      });
      // Both changes are read at once then.
      await waitUntil(
        'the other instance to start again',
        () => notes.starts.get('soylent') === 2,
      );
      await notesOf('umbrella');
      expect(notes.starts.get('umbrella')).toBe(1);
      await notesOf('soylent');
      await writeFile(secret, 'two');
      await waitUntil(
        'the start with another secret',
        () => notes.starts.get('soylent') === 3,
      );
    });

    it('starts again for other integrations when its templates have ended', async () => {
      for (const slug of ['wonka', 'wayne']) {
        const { tenant_id } = await backend.tenants.create({
          tenant_slug: slug,
          tenant_name: slug,
        });
        ids.set(slug, tenant_id);
        await configure(slug, {});
        await eventually(() => send(slug, 'GET', 'scaffolder').expect(200));
      }
      const tasks = `"${engineSchemaOf(ids.get('wonka')!)}_scaffolder".tasks`;
      await query('scaffolder', `insert into ${tasks} values ('processing')`);
      await configure('wonka', { integrations: { github: [] } });
      await configure('wayne', { integrations: { github: [] } });
      // Both changes are read at once then.
      await waitUntil(
        'the other instance to start again',
        () => templates.starts.get('wayne') === 2,
      );
      await send('wonka', 'GET', 'scaffolder').expect(200);
      expect(templates.starts.get('wonka')).toBe(1);
      await query('scaffolder', `update ${tasks} set status = 'completed'`);
      await waitUntil(
        'the instance to start again',
        () => templates.starts.get('wonka') === 2,
      );
    });

    describe('the stock search', () => {
      const found = async (tenant: string, term: string) => {
        const { body } = await send(
          tenant,
          'GET',
          `search/query?term=${term}`,
        ).expect(200);
        return body.results.map(
          (result: { document: { title: string } }) => result.document.title,
        );
      };

      it.each(TENANTS)('finds what %s has, and nothing else', async tenant => {
        await eventually(async () =>
          expect(await found(tenant, 'website')).toEqual([
            `website-of-${tenant}`,
          ]),
        );
        expect(await found(tenant, '')).toEqual([`website-of-${tenant}`]);
        for (const other of TENANTS.filter(each => each !== tenant)) {
          expect(await found(tenant, `website-of-${other}`)).not.toContain(
            `website-of-${other}`,
          );
        }
      });

      it('asks for permissions in the tenant of the request', async () => {
        const onlyKind = (kind: string) => (): PolicyDecision => ({
          result: AuthorizeResult.CONDITIONAL,
          pluginId: 'catalog',
          resourceType: 'catalog-entity',
          conditions: {
            rule: 'IS_ENTITY_KIND',
            resourceType: 'catalog-entity',
            params: { kinds: [kind] },
          },
        });
        try {
          // The stock catalog of the default tenant has no entities in this test.
          for (const tenant of ['acme', 'initech']) {
            decide = onlyKind('component');
            expect(await found(tenant, '')).toEqual([`website-of-${tenant}`]);
            decide = onlyKind('api');
            expect(await found(tenant, '')).toEqual([]);
          }
        } finally {
          decide = () => ({ result: AuthorizeResult.ALLOW });
        }
      });
    });

    it('has its database until it has shut down, at the end of the process', async () => {
      await notesOf('acme');
      await backend.stop();
      const schema = `${engineSchemaOf(ids.get('acme')!)}_notes`;
      expect(
        await query(
          'notes',
          `select text from "${schema}".notes order by id desc limit 1`,
        ),
      ).toEqual(['at the end']);
    });
  },
);

describe('what is listed in onePerTenant', () => {
  it.each([
    ['catalog', /the engines of tenants are its instances/],
    ['a-plugin-with-an-id-too-long', /at most 23 letters, digits and dashes/],
    ['sea"rch', /letters, digits and dashes/],
    ['devtools', /it shows the configuration of the backend/],
    ['jenkins', /was not tried with tenants.*dataOnlyInDatabase: true/],
  ])('is no plugin such as %s', (pluginId, message) => {
    expect(() => onePerTenant({ [pluginId]: [] })).toThrow(message);
  });

  it.each(['catalog', 'devtools'])('is not %s by any declaration', pluginId => {
    expect(() =>
      onePerTenant({
        [pluginId]: { dataOnlyInDatabase: true, features: [] },
      }),
    ).toThrow(`The plugin '${pluginId}' is listed in onePerTenant: `);
  });
});

describe('the code of a backend', () => {
  it('is other code with another module of its own, or of its workspace', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'workspace-'));
    const write = async (path: string, text: string) => {
      await mkdir(join(folder, path, '..'), { recursive: true });
      await writeFile(join(folder, path), text);
    };
    try {
      const main = join(folder, 'backend/dist/index.cjs.js');
      await write(
        'backend/package.json',
        JSON.stringify({ dependencies: { linked: '*', missing: '*' } }),
      );
      await write('backend/dist/index.cjs.js', '');
      await write(
        'linked/package.json',
        JSON.stringify({ name: 'linked', main: 'dist/index.cjs.js' }),
      );
      await write('linked/dist/index.cjs.js', '');
      await mkdir(join(folder, 'node_modules'));
      await symlink('../linked', join(folder, 'node_modules/linked'));
      const digests = [digestOfCode(main)];
      for (const path of ['backend/dist/module.cjs.js', 'linked/dist/a.js']) {
        await write(path, 'one');
        digests.push(digestOfCode(main));
        await write(path, 'two');
        digests.push(digestOfCode(main));
      }
      expect(new Set(digests).size).toBe(5);
      expect(digestOfCode(main)).toBe(digests[4]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

describe('what is default in onePerTenant', () => {
  const idsOf = (features: object) => Object.keys(features).sort();

  it('is taken from the dependencies of the backend', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'backend-'));
    try {
      await symlink(
        resolve(__dirname, '../../../../node_modules'),
        join(folder, 'node_modules'),
      );
      const dependencies = Object.fromEntries(
        [
          'user-settings-backend',
          'search-backend',
          'search-backend-module-pg',
          'permission-backend',
        ].map(name => [`@backstage/plugin-${name}`, '*']),
      );
      await writeFile(
        join(folder, 'package.json'),
        JSON.stringify({ dependencies }),
      );
      await mkdir(join(folder, 'src'));
      const installed = () => installedPlugins(join(folder, 'src/index.ts'));
      const all = featuresOf('default', installed);
      expect(idsOf(all)).toEqual(['search', 'user-settings']);
      expect(all.search).toHaveLength(2);
      expect(onePerTenant(all)).not.toEqual([]);
      expect(featuresOf({ search: 'default', notes: [] }, installed)).toEqual({
        search: all.search,
        notes: [],
      });
      for (const id of ['techdocs', 'jenkins']) {
        expect(() => featuresOf({ [id]: 'default' }, installed)).toThrow(
          `The plugin '${id}' of onePerTenant is 'default', and the backend does not depend`,
        );
      }
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
