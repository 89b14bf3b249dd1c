import { createBackendPlugin } from '@backstage/backend-plugin-api';
import { mockCredentials } from '@backstage/backend-test-utils';
import { createTestDatabases } from '@internal/postgres/testUtils';
import {
  type TenantMemberStore,
  tenantMemberStoreServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';
import { component } from '@internal/catalog-testing/entities';
import {
  type CatalogBackend,
  startCatalogBackend,
} from '@internal/catalog-testing/startCatalogBackend';
import { createTenancyDatabase } from '@internal/catalog-testing/tenancyDatabase';
import { PART_SIZE } from './readInParts';

const databases = createTestDatabases({ versions: 'newest' });

const COUNT = 2 * PART_SIZE + 100;
const REF = 'component:default/c0';
const { userEntityRef: CALLER } = mockCredentials.user().principal;
const GONE = '{"error":"Invalid tenant"}';

// Nothing of this depends on the version of the database.
describe.each(databases.eachSupportedId().slice(-1))(
  'a tenant that is deleted while a request of it runs, on %s',
  id => {
    let backend: CatalogBackend;
    let members: TenantMemberStore;
    const pickUp = createBackendPlugin({
      pluginId: 'picks-up',
      register(env) {
        env.registerInit({
          deps: { found: tenantMemberStoreServiceRef },
          async init({ found }) {
            members = found;
          },
        });
      },
    });
    // What happens after the next read, before anything of it is sent.
    let meanwhile: (() => Promise<void>) | undefined;
    let reads = 0;

    const interrupt = async <T>(read: Promise<T>): Promise<T> => {
      const found = await read;
      reads += 1;
      const happens = meanwhile;
      meanwhile = undefined;
      await happens?.();
      return found;
    };

    beforeAll(async () => {
      const connection = await createTenancyDatabase(databases, id);
      backend = await startCatalogBackend({
        connection,
        enabled: true,
        config: { tenancy: { membership: 'required' } },
        features: [pickUp],
      });
      const { store } = backend;
      const page = store.readPage.bind(store);
      const query = store.readEntities.bind(store);
      const byRefs = store.readEntitiesByRefs.bind(store);
      jest
        .spyOn(store, 'readPage')
        .mockImplementation((...asked) => interrupt(page(...asked)));
      jest
        .spyOn(store, 'readEntities')
        .mockImplementation((...asked) => interrupt(query(...asked)));
      jest
        .spyOn(store, 'readEntitiesByRefs')
        .mockImplementation((...asked) => interrupt(byRefs(...asked)));
      await backend.createTenant(
        'acme',
        Array.from({ length: COUNT }, (_, i) => component(`c${i}`)),
      );
    });

    const enter = (slug: string) =>
      members.put(slug, { principal: CALLER, role: 'viewer' }, { by: 'x' });

    beforeEach(async () => {
      await backend.tenants.restore('acme');
      await enter('acme');
      reads = 0;
      meanwhile = () => backend.tenants.delete('acme');
    });

    afterAll(() => jest.restoreAllMocks());

    const refused = async () => {
      const { status, text } = await backend.as('acme').get('/entities');
      expect([status, text.slice(0, 100)]).toEqual([403, GONE]);
    };

    it.each([
      ['a page', '/entities?limit=10', 10],
      ['a list of one part', '/entities?filter=metadata.name=c0', 1],
    ])(
      '%s is answered in full, and the next one gets 403',
      async (_, path, count) => {
        const answer = await backend.as('acme').get(path);
        expect(answer.status).toBe(200);
        expect(answer.body).toHaveLength(count);
        await refused();
      },
    );

    it('an entity is answered in full, and the next one gets 403', async () => {
      const byName = await backend
        .as('acme')
        .get('/entities/by-name/component/default/c0');
      expect(byName.status).toBe(200);
      expect(byName.body.metadata.name).toBe('c0');
      await refused();

      await backend.tenants.restore('acme');
      meanwhile = () => backend.tenants.delete('acme');
      const byRefs = await backend
        .as('acme')
        .post('/entities/by-refs', { entityRefs: [REF] });
      expect(byRefs.status).toBe(200);
      expect(byRefs.body.items[0].metadata.name).toBe('c0');
      await refused();
    });

    it.each([
      ['/entities', 'tenant'],
      ['/entities', 'caller'],
      [`/entities/by-query?limit=${COUNT}`, 'tenant'],
    ])(
      '%s of several parts breaks off before the next without its %s, and the next request gets 403',
      async (path, missing) => {
        if (missing === 'caller') {
          meanwhile = () => members.remove('acme', CALLER);
        }
        await expect(backend.as('acme').get(path)).rejects.toThrow('aborted');
        expect(reads).toBe(2);
        await refused();
      },
    );

    it('the list of another tenant goes on', async () => {
      await backend.createTenant(
        'globex',
        Array.from({ length: PART_SIZE + 1 }, (_, i) => component(`g${i}`)),
      );
      await enter('globex');
      const { status, body } = await backend.as('globex').get('/entities');
      expect(status).toBe(200);
      expect(body).toHaveLength(PART_SIZE + 1);
      await refused();
    });
  },
);
