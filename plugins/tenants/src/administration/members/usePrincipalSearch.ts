import { useApi } from '@backstage/frontend-plugin-api';
import { isError } from '@backstage/errors';
import { useSearch } from '@internal/pages';
import type { CatalogPrincipal } from 'backstage-plugin-tenants-common';
import { useCallback, useState } from 'react';
import { tenantsApiRef } from '../../api';

/** The longest text for which the backend searches. */
const LONGEST_SEARCH = 100;

/** What is known of a search. */
export type PrincipalSearch =
  | { state: 'idle' | 'searching' | 'refused' | 'failed' }
  | { state: 'found'; items: CatalogPrincipal[]; totalItems: number };

/**
 * Searches the users and groups of the identity catalog while the user types.
 *
 * @param text - what to search for; nothing while there is nothing to search
 */
export function usePrincipalSearch(
  slug: string,
  text: string | undefined,
): PrincipalSearch {
  const tenantsApi = useApi(tenantsApiRef);
  const [isRefused, setRefused] = useState(false);
  const find = useCallback(
    async (search: string): Promise<PrincipalSearch> => {
      try {
        const found = await tenantsApi.findPrincipals(
          slug,
          search ? { search } : {},
        );
        return { state: 'found', ...found };
      } catch (error) {
        setRefused(isRefusal(error));
        return { state: 'failed' };
      }
    },
    [slug, tenantsApi],
  );
  const search = useSearch(
    find,
    // A refusal would be the same for any text.
    isRefused ? undefined : text?.trim().slice(0, LONGEST_SEARCH),
  );
  if (isRefused) {
    return { state: 'refused' };
  }
  return search.state === 'done' ? search.answer : search;
}

/** Whether the caller may change members, but may not read the catalog of identities. */
function isRefusal(error: unknown): boolean {
  return (
    isError(error) &&
    isError(error.cause) &&
    error.cause.name === 'IdentityCatalogNotAllowedError'
  );
}
