import {
  DEFAULT_NAMESPACE,
  type Entity,
  stringifyEntityRef,
} from '@backstage/catalog-model';
import { identityApiRef, useApi } from '@backstage/frontend-plugin-api';
import { catalogApiRef } from '@backstage/plugin-catalog-react';
import { useSearch } from '@internal/pages';
import { useCallback } from 'react';
import useAsync from 'react-use/esm/useAsync';
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
  /** Whether the user is a member. */
  isOwn: boolean;
}

/** What is known of a search. */
export type GroupSearch =
  | { state: 'idle' | 'searching' }
  | {
      state: 'found' | 'failed';
      groups: FoundGroup[];
      /** How many the catalog has. */
      totalItems: number;
    };

const NONE: FoundGroup[] = [];

/**
 * Searches groups while the user types: those that the user is a member of, and those of the
 * catalog.
 *
 * @param text - what to search for; nothing while there is nothing to search
 */
export function useGroupSearch(text: string | undefined): GroupSearch {
  const catalogApi = useApi(catalogApiRef);
  const identityApi = useApi(identityApiRef);
  const { value: own = NONE } = useAsync(async () => {
    const { ownershipEntityRefs } = await identityApi.getBackstageIdentity();
    return ownershipEntityRefs
      .filter(ref => ref.startsWith('group:'))
      .map((group): FoundGroup => {
        return { group, title: shortName(group), isOwn: true };
      });
  }, [identityApi]);
  const find = useCallback(
    async (searched: string): Promise<GroupSearch> => {
      const mine = own.filter(({ group }) =>
        group.includes(searched.toLocaleLowerCase('en-US')),
      );
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
        const owned = new Set(own.map(({ group }) => group));
        const found = items.map(entity => {
          const group = stringifyEntityRef(entity);
          return { group, title: titleOf(entity), isOwn: owned.has(group) };
        });
        const known = new Set(found.map(({ group }) => group));
        // A portal with tenants knows people by another catalog than that of the tenant.
        const others = mine.filter(({ group }) => !known.has(group));
        return {
          state: 'found',
          groups: [...others, ...found],
          totalItems: totalItems + others.length,
        };
      } catch {
        return { state: 'failed', groups: mine, totalItems: mine.length };
      }
    },
    [catalogApi, own],
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
