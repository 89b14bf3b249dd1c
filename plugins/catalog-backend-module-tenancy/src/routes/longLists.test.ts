import type { Entity } from '@backstage/catalog-model';
import { createTestDatabases } from '@internal/postgres/testUtils';
import { DEFAULT_TENANT_ID } from 'backstage-plugin-catalog-tenancy-node';
import { Client } from 'pg';
import {
  type CatalogBackend,
  startCatalogBackend,
} from '@internal/catalog-testing/startCatalogBackend';
import { createTenancyDatabase } from '@internal/catalog-testing/tenancyDatabase';
import { PART_SIZE } from './readInParts';

const databases = createTestDatabases({ versions: 'newest' });

const COUNT = 2 * PART_SIZE + 100;

// On one version: what is tested is how answers are sent.
describe.each(databases.eachSupportedId().slice(-1))('long lists on %s', id => {
  let backend: CatalogBackend;

  beforeAll(async () => {
    const connection = await createTenancyDatabase(databases, id);
    backend = await startCatalogBackend({ connection, enabled: true });
    const client = new Client(connection);
    await client.connect();
    // As others have written them: half of the refs are in the case of the entity.
    await client.query(
      `insert into tenancy.entities (tenant_id, entity_ref, entity_kind,
                                     entity_namespace, entity_name, final_entity, hash)
       select $1, kind || ':default/' || name, kind, 'default', name,
              jsonb_build_object('kind', 'Component', 'metadata', jsonb_build_object(
                'name', 'Name-' || i, 'namespace', 'default',
                'description', repeat('x', 2000))),
              'hash'
         from generate_series(1, $2::int) i,
              lateral (select case i % 2 when 0 then 'Component' else 'component' end,
                              case i % 2 when 0 then 'Name-' else 'name-' end || i
                      ) spelled (kind, name)`,
      [DEFAULT_TENANT_ID, COUNT],
    );
    await client.end();
  });

  const names = async (query: string): Promise<string[]> => {
    const { body, status } = await backend
      .as('default')
      .get(`/entities?fields=metadata.name${query}`);
    expect(status).toBe(200);
    return body.map((entity: Entity) => entity.metadata.name);
  };

  it.each([
    ['', COUNT],
    ['&filter=kind=component', COUNT],
    ['&order=desc:metadata.name', COUNT],
    [`&limit=${COUNT + 1}`, COUNT],
    [`&limit=${PART_SIZE + 1}&offset=10`, PART_SIZE + 1],
    [`&offset=${PART_SIZE}`, COUNT - PART_SIZE],
  ])('has each entity once, by %j', async (query, count) => {
    const found = await names(query);
    expect(found).toHaveLength(count);
    expect(new Set(found).size).toBe(count);
  });

  it('points at the page behind one that is longer than a part', async () => {
    const next = async (limit: number) => {
      const answer = await backend
        .as('default')
        .get(`/entities?fields=kind&limit=${limit}`);
      expect(answer.body).toHaveLength(Math.min(limit, COUNT));
      return answer.get('Link');
    };
    await expect(next(COUNT - 1)).resolves.toMatch(/; rel="next"$/);
    await expect(next(COUNT)).resolves.toBeUndefined();
    await expect(next(COUNT + 1)).resolves.toBeUndefined();
  });
});
