import type { Entity } from '@backstage/catalog-model';
import { ReplicatedPostgres } from '@internal/postgres';
import {
  eventually,
  waitUntil,
  withClient,
} from '@internal/postgres/testUtils';
import {
  type Tenancy,
  tenancyServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';
import type { ClientConfig } from 'pg';
import { component } from '@internal/catalog-testing/entities';
import { sampleEntities } from '@internal/catalog-testing/sampleEntities';
import {
  type CatalogBackend,
  startCatalogBackend,
} from '@internal/catalog-testing/startCatalogBackend';
import { entityProvider } from '@internal/catalog-testing/stockEngine';
import { takeServices } from '@internal/catalog-testing/takeServices';
import { APPLICATION } from '@internal/catalog-testing/tenancyDatabase';

const DATABASE = 'portal';
const REF = 'component:default/a';
const STOCK = sampleEntities().slice(0, 1);

let servers: ReplicatedPostgres;

// Out here, so that backends that were started are stopped first.
afterAll(() => servers?.stop());

async function run(connection: ClientConfig, statement: string): Promise<void> {
  await withClient(connection, client => client.query(statement));
}

/** As another process would, of which the backend knows nothing. */
const onPrimary = (statement: string, database = DATABASE) =>
  run({ ...servers.primary, database }, statement);

const onReplica = (statement: string) =>
  run({ ...servers.replica, database: DATABASE }, statement);

// Nothing of this depends on the version of the database.
describe('a backend with a read replica', () => {
  let backend: CatalogBackend;
  let tenancy: Tenancy;
  let acme: string;
  let uid: string;

  beforeAll(async () => {
    servers = await ReplicatedPostgres.start(18);
    const { user, password } = APPLICATION;
    await onPrimary(
      `create role ${user} login noinherit password '${password}'`,
      'postgres',
    );
    await servers.stopReplica();
    const taken = takeServices({ tenancy: tenancyServiceRef });
    backend = await startCatalogBackend({
      connection: { ...servers.primary, database: DATABASE },
      enabled: true,
      config: {
        catalog: {
          processingInterval: { hours: 1 },
          orphanProviderStrategy: 'keep',
        },
        tenancy: {
          database: {
            replica: {
              connection: { port: servers.replica.port },
              maxStalenessMs: 600_000,
            },
          },
        },
      },
      features: [entityProvider(STOCK), taken.feature],
    });
    tenancy = taken.services.tenancy;
    acme = await backend.createTenant('acme');
  });

  async function whilePaused(work: () => Promise<void>): Promise<void> {
    await onReplica('select pg_wal_replay_pause()');
    try {
      await work();
    } finally {
      await onReplica('select pg_wal_replay_resume()');
    }
  }

  const give = (title: string): Promise<unknown> =>
    backend.write(acme, {
      type: 'full',
      entities: [component('a', { metadata: { name: 'a', title } })],
    });

  const titleOf = async (path = `/entities/by-name/component/default/a`) => {
    const { body } = await backend.as('acme').get(path);
    return body.metadata?.title;
  };

  /** Waits until a read of the tenant is answered by the replica. */
  async function replicaAnswers(slug: string): Promise<void> {
    await waitUntil('the replica to answer', async () => {
      const { replica: before } = tenancy.replica!.counts;
      await backend.as(slug).get('/entities?limit=1');
      return tenancy.replica!.counts.replica > before;
    });
  }

  it('starts and answers without it', async () => {
    await give('first');
    await expect(titleOf()).resolves.toBe('first');
    expect(tenancy.replica!.counts).toMatchObject({ replica: 0, failed: 0 });
    const { body } = await backend
      .as('acme')
      .get('/entities/by-name/component/default/a');
    uid = body.metadata.uid;
  });

  it('reads from it once it is there, by every route', async () => {
    await servers.startReplica();
    await replicaAnswers('acme');
    await whilePaused(async () => {
      await onPrimary(
        `update tenancy.entities
            set final_entity = jsonb_set(final_entity::jsonb, '{metadata,title}', '"second"')
          where tenant_id = '${acme}'`,
      );
      const as = backend.as('acme');
      const routes = [
        () => as.get('/entities'),
        () => as.get('/entities/by-query?filter=metadata.title=first'),
        () => as.get(`/entities/by-uid/${uid}`),
        () => as.get('/entities/by-name/component/default/a'),
        () => as.get('/entities/by-name/component/default/a/ancestry'),
        () => as.get('/entity-facets?facet=metadata.title'),
        () => as.post('/entities/by-refs', { entityRefs: [REF] }),
        () => as.post('/entities/by-query', { query: { kind: 'component' } }),
      ];
      for (const route of routes) {
        // The primary answers where the replica is too slow to connect.
        await eventually(async () => {
          const { status, text } = await route();
          expect([status, text]).toEqual([
            200,
            expect.stringContaining('first'),
          ]);
        });
      }
    });
  });

  it('shows the default tenant what the stock catalog has done for it', async () => {
    const as = backend.as('default');
    const path = `/entities/by-name/group/default/${STOCK[0].metadata.name}`;
    const entity = await waitUntil('the engine', async () => {
      const { status, body } = await as.get(path);
      return status === 200 ? (body as Entity) : undefined;
    });
    await replicaAnswers('default');
    await whilePaused(async () => {
      const { replica: before } = tenancy.replica!.counts;
      await expect(as.get(path)).resolves.toMatchObject({ status: 200 });
      expect(tenancy.replica!.counts.replica).toBe(before + 1);
      const deleted = await as.send(
        'DELETE',
        `/entities/by-uid/${entity!.metadata.uid}`,
      );
      expect(deleted.status).toBe(204);
      await expect(as.get(path)).resolves.toMatchObject({ status: 404 });
    });
  });
});
