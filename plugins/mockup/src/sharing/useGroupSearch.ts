import {
  DEFAULT_NAMESPACE,
  type Entity,
  stringifyEntityRef,
} from '@backstage/catalog-model';
import { useApi } from '@backstage/frontend-plugin-api';
import { catalogApiRef } from '@backstage/plugin-catalog-react';
import { useSearch } from '@internal/pages';
import { useCallback } from 'react';
import { shortName } from './groups';

/** How many groups are offered at once. */
const MOST = 20;

const SEARCHED_FIELDS = [
  'metadata.name',
  'metadata.title',
  'spec.profile.displayname',
];
const FIELDS = [
  'kind',
  'metadata.name',
  'metadata.namespace',
  'metadata.title',
  'spec.profile.displayName',
];

/** A group to choose. */
export interface FoundGroup {
  group: string;
  /** What the catalog calls it. */
  title: string;
}

/** What is known of a search. */
export type GroupSearch =
  | { state: 'idle' | 'searching' | 'failed' }
  | {
      state: 'found';
      groups: FoundGroup[];
      /** How many the catalog has. */
      totalItems: number;
    };

/**
 * Searches the groups of the catalog while the user types.
 *
 * @param text - what to search for; nothing while there is nothing to search
 */
export function useGroupSearch(text: string | undefined): GroupSearch {
  const catalogApi = useApi(catalogApiRef);
  const find = useCallback(
    async (searched: string): Promise<GroupSearch> => {
      try {
        const { items, totalItems } = await catalogApi.queryEntities({
          filter: { kind: 'group' },
          fields: FIELDS,
          orderFields: { field: 'metadata.name', order: 'asc' },
          limit: MOST,
          ...(searched && {
            fullTextFilter: { term: searched, fields: SEARCHED_FIELDS },
          }),
        });
        const groups = items.map(entity => ({
          group: stringifyEntityRef(entity),
          title: titleOf(entity),
        }));
        return { state: 'found', groups, totalItems };
      } catch {
        return { state: 'failed' };
      }
    },
    [catalogApi],
  );
  const search = useSearch(find, text?.trim());
  return search.state === 'done' ? search.answer : search;
}

function titleOf({ metadata, spec }: Entity): string {
  const { name, title, namespace = DEFAULT_NAMESPACE } = metadata;
  const profile = spec?.profile;
  const displayName =
    typeof profile === 'object' && profile !== null && 'displayName' in profile
      ? profile.displayName
      : undefined;
  if (typeof displayName === 'string' && displayName) {
    return displayName;
  }
  return title ?? shortName(`group:${namespace}/${name}`);
}
