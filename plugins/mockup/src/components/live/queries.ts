import type { Entity } from '@backstage/catalog-model';
import { discoveryApiRef, fetchApiRef } from '@backstage/frontend-plugin-api';
import { HttpClient, toSearch } from '@internal/http-client';
import type { MockupDataSources } from '../registry/MockupComponentBlueprint';
import { type FilterLines, toFilter } from './filter';
import { catalogOf } from './PageData';

/** What of an entity a list shows. */
const FIELDS = [
  'apiVersion',
  'kind',
  'metadata.name',
  'metadata.namespace',
  'metadata.title',
  'metadata.description',
  'spec.type',
  'spec.lifecycle',
  'spec.profile.displayName',
  'relations',
];

/** How many values of a facet are shown, the most frequent ones. */
const MOST_VALUES = 20;

export interface FoundEntities {
  items: Entity[];
  totalItems: number;
}

/** The first entities that match, by name, and how many there are. */
export async function findEntities(
  { filter = [], limit = 10 }: { filter?: FilterLines; limit?: number },
  sources: MockupDataSources,
): Promise<FoundEntities> {
  return catalogOf(sources).queryEntities({
    filter: toFilter(filter),
    fields: FIELDS,
    orderFields: { field: 'metadata.name', order: 'asc' },
    limit,
  });
}

/** How many entities match. */
export async function countEntities(
  { filter = [] }: { filter?: FilterLines },
  sources: MockupDataSources,
): Promise<number> {
  const { totalItems } = await catalogOf(sources).queryEntities({
    filter: toFilter(filter),
    fields: ['metadata.name'],
    limit: 1,
  });
  return totalItems;
}

/** How many entities have which value of a field, the most frequent first. */
export async function countByField(
  { filter = [], field }: { filter?: FilterLines; field: string },
  sources: MockupDataSources,
): Promise<{ label: string; value: number }[]> {
  const { facets } = await catalogOf(sources).getEntityFacets({
    filter: toFilter(filter),
    facets: [field],
  });
  return (facets[field] ?? [])
    .map(({ value, count }) => ({ label: value, value: count }))
    .sort((a, b) => b.value - a.value || a.label.localeCompare(b.label))
    .slice(0, MOST_VALUES);
}

/** Something found elsewhere in the portal. */
export interface FoundLink {
  label: string;
  href: string;
  text?: string;
}

/** A backend plugin of the portal, as its own pages reach it. */
function pluginOf({ apis }: MockupDataSources, pluginId: string): HttpClient {
  const discoveryApi = apis.get(discoveryApiRef);
  const fetchApi = apis.get(fetchApiRef);
  if (!discoveryApi || !fetchApi) {
    throw new Error('The portal has no APIs to reach its backend');
  }
  return new HttpClient(pluginId, { discoveryApi, fetchApi });
}

/** What the search of the portal finds first. */
export async function search(
  { term, limit = 10 }: { term: string; limit?: number },
  sources: MockupDataSources,
): Promise<FoundLink[]> {
  const { results } = await pluginOf(sources, 'search').json<{
    results: {
      document: { title: string; location: string; text?: string };
    }[];
  }>(`/query${toSearch({ term, pageLimit: limit })}`);
  return results.map(({ document: { title, location, text } }) => ({
    label: title,
    href: location,
    text,
  }));
}

/** The newest notifications that the user has not read. */
export async function unreadNotifications(
  { limit = 10 }: { limit?: number },
  sources: MockupDataSources,
): Promise<FoundLink[]> {
  const query = { limit, read: false, orderField: 'created,desc' };
  const { notifications } = await pluginOf(sources, 'notifications').json<{
    notifications: {
      payload: { title: string; link?: string; description?: string };
    }[];
  }>(`/notifications${toSearch(query)}`);
  return notifications.map(({ payload: { title, link, description } }) => ({
    label: title,
    href: link || '/notifications',
    text: description,
  }));
}
