import allowAll from '@backstage/plugin-permission-backend-module-allow-all-policy';
import { signedInGuest } from '@internal/catalog-testing/signedInGuest';
import {
  type CatalogBackend,
  startCatalogBackend,
} from '@internal/catalog-testing/startCatalogBackend';
import { createTenancyDatabase } from '@internal/catalog-testing/tenancyDatabase';
import {
  createTestDatabases,
  eventually,
  waitUntil,
} from '@internal/postgres/testUtils';
// Serves the registry of tenants.
// eslint-disable-next-line @backstage/no-mixed-plugin-imports
import tenantsPlugin from 'backstage-plugin-tenants-backend';
import request from 'supertest';
import { tenantEngines } from '..';
import { SourceServer } from '../__testUtils__/SourceServer';
import recorded from './__fixtures__/importWizard.json';

const databases = createTestDatabases({ versions: 'newest' });

const GUEST = 'user:default/guest';

/** Stands for the host of the file in the recording. */
const SOURCE = 'source.example.com';

/**
 * A request to the backend, recorded in Chromium from the import page and the entity page
 * of a frontend that `create-app` of Backstage 1.55 had made, at the hostname of a tenant.
 * The file that was imported is the fixture's too. `{location}` stands for the id of the
 * location that the import made.
 */
interface Recorded {
  step: 'review' | 'import' | 'show' | 'unregister';
  method: string;
  path: string;
  body?: object;
  status: number;
}

describe.each(databases.eachSupportedId())(
  'the import page of the stock frontend on %s',
  id => {
    let source: SourceServer;
    let backend: CatalogBackend;
    let authorization: string;
    let location = '';

    /** As the browser sends it: the hostname names the tenant, or none. */
    function send(
      hostname: string,
      { method, path, body }: Omit<Recorded, 'step' | 'status'>,
    ) {
      const test = request(backend.server).get(
        path
          .replace(SOURCE, encodeURIComponent(source.host))
          .replace('{location}', location),
      );
      test.method = method;
      const text = JSON.stringify(body)?.replaceAll(SOURCE, source.host);
      return test
        .set('Authorization', authorization)
        .set('Host', hostname)
        .set('Content-Type', 'application/json')
        .send(text);
    }

    beforeAll(async () => {
      source = await SourceServer.start();
      const guest = signedInGuest(GUEST);
      backend = await startCatalogBackend({
        connection: await createTenancyDatabase(databases, id),
        enabled: true,
        config: {
          ...guest.config,
          backend: {
            // Databases that no other test file has.
            database: { prefix: `import_wizard_${process.pid}_` },
            reading: { allow: [{ host: source.host }] },
          },
          tenancy: { admins: [GUEST], membership: 'required' },
        },
        features: [...guest.features, allowAll, tenantsPlugin, tenantEngines()],
      });
      const { body } = await request(backend.server).get(
        '/api/auth/guest/refresh',
      );
      authorization = `Bearer ${body.backstageIdentity.token}`;
      for (const slug of ['acme', 'globex']) {
        await backend.tenants.create({ tenant_slug: slug, tenant_name: slug });
      }
      source.put(new URL(recorded.target).pathname, recorded.file);
    });

    afterAll(async () => {
      await backend?.stop();
      await source?.stop();
    });

    const requests = (step: Recorded['step']) =>
      (recorded.requests as Recorded[]).filter(each => each.step === step);

    const isPermission = (path: string) => path.startsWith('/api/permission/');

    const entityPath = `/api/catalog/entities/by-name/${recorded.entity}`;

    const statusOfEntity = async (hostname: string) =>
      (await send(hostname, { method: 'GET', path: entityPath })).status;

    it('reviews, imports and shows a component of the tenant, and of no other', async () => {
      // The engine may be starting.
      await eventually(async () => {
        const path = '/api/catalog/locations';
        const { status } = await send('acme.localhost', {
          method: 'GET',
          path,
        });
        expect(status).toBe(200);
      });

      const reviewed = [];
      for (const each of requests('review')) {
        const answer = await send('acme.localhost', each);
        expect(answer.status).toBe(each.status);
        reviewed.push(answer.body);
      }
      const preview = reviewed.find(body => body.entities);
      expect(preview.exists).toBe(false);
      const { kind, metadata } = preview.entities.find(
        (entity: { kind: string }) => entity.kind !== 'Location',
      );
      expect(`${kind}/default/${metadata.name}`.toLowerCase()).toBe(
        recorded.entity,
      );
      expect(await statusOfEntity('acme.localhost')).toBe(404);

      for (const each of requests('import')) {
        const answer = await send('acme.localhost', each);
        expect(answer.status).toBe(each.status);
        location = answer.body.location.id;
      }
      await waitUntil(
        'the component',
        async () => (await statusOfEntity('acme.localhost')) === 200,
      );
      for (const each of requests('show')) {
        const answer = await send('acme.localhost', each);
        expect(answer.status).toBe(each.status);
        expect(answer.text).toContain(recorded.mark);
      }

      for (const hostname of ['globex.localhost', 'localhost']) {
        expect(await statusOfEntity(hostname)).toBe(404);
        for (const each of requests('show')) {
          const answer = await send(hostname, each);
          expect(answer.text).not.toContain(recorded.mark);
        }
      }
    });

    it('unregisters it, at the hostname of its tenant alone', async () => {
      const changes = requests('unregister').filter(
        ({ method }) => method !== 'GET',
      );
      for (const each of changes.filter(({ path }) => !isPermission(path))) {
        const { status } = await send('globex.localhost', each);
        expect(status).toBe(404);
      }
      expect(await statusOfEntity('acme.localhost')).toBe(200);

      for (const each of requests('unregister')) {
        const answer = await send('acme.localhost', each);
        expect(answer.status).toBe(each.status);
      }
      await waitUntil(
        'the component to be gone',
        async () => (await statusOfEntity('acme.localhost')) === 404,
      );
    });

    it('analyzes a repository by the engine of the tenant', async () => {
      const answer = await send('acme.localhost', {
        method: 'POST',
        path: '/api/catalog/analyze-location',
        body: {
          location: { type: 'url', target: `http://${SOURCE}/acme/skates` },
        },
      });
      expect(answer.status).toBe(200);
      expect(answer.body.existingEntityFiles).toEqual([]);
      expect(answer.body.generateEntities[0].entity.metadata.name).toBe(
        'skates',
      );
    });
  },
);
