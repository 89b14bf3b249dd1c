import { createTestDatabases } from '@internal/postgres/testUtils';
import { adopt } from 'backstage-catalog-tenancy-migrations';
import type { Response } from 'supertest';
import { sampleEntities } from '@internal/catalog-testing/sampleEntities';
import {
  type CatalogBackend,
  startCatalogBackend,
} from '@internal/catalog-testing/startCatalogBackend';
import { entityProvider, settled } from '@internal/catalog-testing/stockEngine';
import { createTenancyDatabase } from '@internal/catalog-testing/tenancyDatabase';
import { comparableHeaders } from '@internal/catalog-testing/requests';

const databases = createTestDatabases({ versions: 'newest', citus: true });

/** With the flag on, every answer says that it depends on these. */
const TENANT_HEADERS = 'Host, X-Forwarded-Host, Authorization, X-Tenant-Slug';

const encode = (value: unknown) =>
  encodeURIComponent(Buffer.from(JSON.stringify(value)).toString('base64'));

const FILTERS = [
  'kind=component',
  'kind=COMPONENT,spec.type=Service',
  'spec.system',
  'spec.system=',
  'spec.LifeCycle=EXPERIMENTAL',
  'metadata.namespace',
  'metadata.tags.Java=true',
  'metadata.tags=java,metadata.tags=rust',
  'metadata.annotations.backstage.io/techdocs-ref',
  `metadata.description=${'d'.repeat(250)}`,
  'relations.OwnedBy=user:default/alice,kind=component',
  'relations=group:default/team-a',
  'spec.nested.deep.flag=true',
  'spec.type=service,metadata.tags=java,relations.dependsOn=resource:default/db-1',
  'spec.type=100%',
  "spec.type=it's",
];

const get = (path: string) => ({ method: 'GET', path, body: undefined });
const byRefs = (body: unknown, query = '') => ({
  method: 'POST',
  path: `/entities/by-refs${query}`,
  body,
});
const REFS = [
  'component:default/service-03',
  'component:default/nothing',
  'no ref',
  'component:other/service-07',
  'component:default/service-03',
  'group:default/team-a',
];

/** Requests whose answers are the same. */
const REQUESTS = [
  get('/entities'),
  get('/entities/'),
  get('/ENTITIES?filter=kind=group'),
  ...FILTERS.map(filter =>
    get(`/entities?filter=${encodeURIComponent(filter)}`),
  ),
  get('/entities?filter=kind=group&filter=spec.type=library,spec.system'),
  get('/entities?filter=kind=group&filter=%20,%20'),
  get('/entities?fields=kind,metadata.name'),
  get('/entities?fields=kind&fields=metadata.annotations.example.com/count'),
  get('/entities?fields=metadata.tags,spec.nested.deep,spec.nothing,relations'),
  get('/entities?filter=kind=api&fields=metadata.tags.length,kind.0'),
  get('/entities?order=asc:metadata.name'),
  get('/entities?order=desc:spec.size&fields=spec.size,metadata.name'),
  get('/entities?order=desc:metadata.annotations.example.com/count'),
  get('/entities?limit=5&offset=3'),
  get('/entities?offset=35'),
  get('/entities?limit=1e1'),
  get(`/entities?after=${encode({ limit: 7, offset: 7 })}`),
  get(`/entities?after=${encode({ limit: 7, offset: 7 })}&limit=2&fields=kind`),
  get(
    '/entities?limit=4&offset=4&order=desc:metadata.name&filter=kind=component',
  ),
  get(
    '/entities?limit=100&order=asc:kind&order=desc:spec.type&fields=kind,spec.type',
  ),
  get('/entities/by-name/component/default/service-03'),
  get('/entities/by-name/Component/Default/SERVICE-03/'),
  get('/entities/by-name/component/other/service-03'),
  get('/entities/by-name/a:b/c%2Fd/e'),
  get('/entities/by-uid/7bd6b4a3-0b0c-4f0f-8a67-0d9b3c6c9f11'),
  get('/entities/by-uid/no-uuid'),
  byRefs({ entityRefs: REFS }),
  byRefs({ entityRefs: [] }),
  byRefs({ entityRefs: REFS, fields: ['kind', 'metadata.name'] }),
  byRefs({ entityRefs: REFS }, '?filter=kind=component'),
  byRefs({ entityRefs: REFS, query: { 'spec.type': 'library' } }),
  byRefs(
    { entityRefs: REFS, query: { 'spec.type': 'team' } },
    '?filter=kind=group',
  ),
  byRefs({ entityRefs: REFS, unknown: true }),
  get('/entities?limit=abc'),
];

const MORE = [
  get('/entities/by-query?limit=3'),
  get('/entities/by-query?orderField=metadata.name'),
  { ...get('/entities/by-query'), method: 'POST', body: { limit: 2 } },
  get('/entity-facets?facet=kind&facet=spec.type'),
  get('/entities/by-name/component/default/service-03/ancestry'),
  get('/locations'),
  get('/openapi.json'),
  get('/.well-known/backstage/permissions/metadata'),
  get('///entities'),
  get('/nothing'),
  { ...get('/entities'), method: 'HEAD' },
  { ...get('/entities/by-query'), method: 'HEAD' },
  { ...get('/entities'), method: 'PATCH' },
];

describe.each(databases.eachSupportedId())(
  'beside the stock catalog on %s',
  id => {
    let stock: CatalogBackend;
    let off: CatalogBackend;
    let on: CatalogBackend;

    beforeAll(async () => {
      const connection = await createTenancyDatabase(databases, id);
      const entities = sampleEntities();
      stock = await startCatalogBackend({
        connection,
        config: { catalog: { processingInterval: { hours: 1 } } },
        features: [entityProvider(entities)],
      });
      await settled(
        async () => (await stock.as(undefined).get('/entities')).body,
        entities.length,
      );
      await adopt({ connection });
      off = await startCatalogBackend({ connection, enabled: false });
      on = await startCatalogBackend({ connection, enabled: true });
    });

    const send = async (
      backend: CatalogBackend,
      { method, path, body }: { method: string; path: string; body: unknown },
    ) => backend.as(undefined).send(method, path, body);

    describe('with the flag off', () => {
      it('answers every request as if the module were not there', async () => {
        const options = { ...get('/entities'), method: 'OPTIONS' };
        for (const each of [...REQUESTS, ...MORE, options]) {
          const expected = await send(stock, each);
          const actual = await send(off, each);
          expect({ each, answer: whole(actual) }).toEqual({
            each,
            answer: whole(expected),
          });
        }
      });
    });

    describe('with the flag on', () => {
      it('answers as the stock catalog does', async () => {
        for (const each of [...REQUESTS, ...MORE]) {
          const expected = await send(stock, each);
          const actual = await send(on, each);
          const due = normal(each, expected);
          const headers = { ...due.headers, vary: TENANT_HEADERS };
          expect({ each, answer: normal(each, actual) }).toEqual({
            each,
            answer: { ...due, headers },
          });
        }
      });
    });
  },
);

/** All of an answer but when it was sent. */
function whole({ status, text, headers }: Response) {
  const { date, ...rest } = headers;
  return { status, text, headers: rest };
}

/** All of an answer but when and how it was sent. */
function normal(request: { path: string; body: unknown }, answer: Response) {
  const { status, body } = answer;
  return { status, headers: comparableHeaders(request, answer), body };
}
