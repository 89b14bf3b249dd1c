import type { CatalogApi } from '@backstage/catalog-client';
import type { Entity } from '@backstage/catalog-model';

type Call = (client: CatalogApi) => Promise<unknown>;

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found = [];
  for await (const item of items) {
    found.push(item);
  }
  return found;
}

/** What the client reads from the entities of a tenant, in every way it has for it. */
export function readCalls(entity: Entity): Record<string, Call[]> {
  const { kind, metadata } = entity;
  const { name, namespace = 'default' } = metadata;
  const ref = `${kind}:${namespace}/${name}`.toLowerCase();
  return {
    getEntities: [
      client => client.getEntities(),
      client => client.getEntities({ limit: 7, offset: 3, fields: ['kind'] }),
      client =>
        client.getEntities({
          filter: [{ kind: ['api', 'user'] }, { 'spec.type': 'service' }],
          order: { field: 'metadata.name', order: 'desc' },
        }),
    ],
    getEntitiesByRefs: [
      client =>
        client.getEntitiesByRefs({
          entityRefs: [ref, 'a:b/c', 'user:default/user-1'],
          fields: ['metadata.name'],
        }),
      client =>
        client.getEntitiesByRefs({
          entityRefs: [ref, 'user:default/user-1'],
          filter: { kind },
        }),
      client =>
        client.getEntitiesByRefs({ entityRefs: [ref], query: { kind } }),
    ],
    queryEntities: [
      client => client.queryEntities(),
      client => client.queryEntities({ limit: 2, filter: { kind } }),
      client => client.queryEntities({ limit: 3, query: { $not: { kind } } }),
      client => client.queryEntities({ query: { kind: { $hasPrefix: 'c' } } }),
      async client => {
        const first = await client.queryEntities({
          limit: 4,
          orderFields: { field: 'metadata.name', order: 'asc' },
          fullTextFilter: { term: 'a', fields: ['metadata.name'] },
        });
        const { nextCursor = '' } = first.pageInfo;
        const next = await client.queryEntities({ cursor: nextCursor });
        const { prevCursor = '' } = next.pageInfo;
        const back = await client.queryEntities({ cursor: prevCursor });
        return [first, next, back];
      },
    ],
    streamEntities: [
      client => all(client.streamEntities({ pageSize: 150 })),
      client => all(client.streamEntities({ filter: { kind }, pageSize: 3 })),
    ],
    getEntityAncestors: [
      client => client.getEntityAncestors({ entityRef: ref }),
      client => client.getEntityAncestors({ entityRef: 'a:b/c' }),
    ],
    getEntityByRef: [
      client => client.getEntityByRef(ref),
      client => client.getEntityByRef({ kind, namespace, name }),
      client => client.getEntityByRef('a:b/c'),
    ],
    getEntityFacets: [
      client => client.getEntityFacets({ facets: ['kind', 'spec.type'] }),
      client =>
        client.getEntityFacets({ facets: ['metadata.tags'], filter: { kind } }),
      client =>
        client.getEntityFacets({ facets: ['kind'], query: { $not: { kind } } }),
    ],
  };
}

/** What the engine of the stock catalog has or does. */
export function engineCalls(entity: Entity): Record<string, Call[]> {
  const uid = '7bd6b4a3-0b0c-4f0f-8a67-0d9b3c6c9f11';
  const location = { type: 'url', target: 'https://example.invalid/a.yaml' };
  return {
    getLocations: [client => client.getLocations()],
    queryLocations: [client => client.queryLocations({ limit: 5 })],
    streamLocations: [client => all(client.streamLocations())],
    getLocationById: [client => client.getLocationById(uid)],
    getLocationByRef: [
      client => client.getLocationByRef(`url:${location.target}`),
    ],
    getLocationByEntity: [client => client.getLocationByEntity('a:b/c')],
    addLocation: [client => client.addLocation({ ...location, dryRun: true })],
    removeLocationById: [client => client.removeLocationById(uid)],
    removeEntityByUid: [client => client.removeEntityByUid(uid)],
    refreshEntity: [client => client.refreshEntity('a:b/c')],
    validateEntity: [
      client => client.validateEntity(entity, `url:${location.target}`),
    ],
    analyzeLocation: [client => client.analyzeLocation({ location })],
  };
}

/** What comes of a call, without what only this process has of an error. */
export async function outcomeOf(call: Promise<unknown>): Promise<unknown> {
  try {
    return { value: await call };
  } catch (error) {
    const { name, message, body } = error as Error & { body?: object };
    return { name, message: body ? undefined : message, body };
  }
}
