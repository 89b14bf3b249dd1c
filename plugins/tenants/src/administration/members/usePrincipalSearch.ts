import { useApi } from '@backstage/frontend-plugin-api';
import { isError } from '@backstage/errors';
import type { CatalogPrincipal } from 'backstage-plugin-tenants-common';
import { useEffect, useState } from 'react';
import { tenantsApiRef } from '../../api';

/** How long somebody has to pause before the catalog is asked. */
export const DEBOUNCE_MS = 250;

/** The longest text for which the backend searches. */
const LONGEST_SEARCH = 100;

/** What is known of a search. */
export type PrincipalSearch =
  | { state: 'idle' | 'searching' | 'refused' | 'failed' }
  | { state: 'found'; items: CatalogPrincipal[]; totalItems: number };

/**
 * Searches the users and groups of the identity catalog while somebody types. The answer is
 * that to the last text, in whatever order answers come.
 *
 * @param text - what to search for; nothing while there is nothing to search
 */
export function usePrincipalSearch(
  slug: string,
  text: string | undefined,
): PrincipalSearch {
  const tenantsApi = useApi(tenantsApiRef);
  const [search, setSearch] = useState<PrincipalSearch>({ state: 'idle' });
  const isRefused = search.state === 'refused';
  const term = text?.trim().slice(0, LONGEST_SEARCH);

  useEffect(() => {
    if (isRefused) {
      // The answer would be the same for any text.
      return undefined;
    }
    if (term === undefined) {
      setSearch({ state: 'idle' });
      return undefined;
    }
    let isCurrent = true;
    setSearch({ state: 'searching' });
    const timer = setTimeout(
      async () => {
        const next = await find(term);
        if (isCurrent) {
          setSearch(next);
        }
      },
      // Nothing typed yet: the first ones.
      term === '' ? 0 : DEBOUNCE_MS,
    );
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };

    async function find(searched: string): Promise<PrincipalSearch> {
      try {
        const found = await tenantsApi.findPrincipals(
          slug,
          searched ? { search: searched } : {},
        );
        return { state: 'found', ...found };
      } catch (error) {
        return { state: isRefusal(error) ? 'refused' : 'failed' };
      }
    }
  }, [slug, tenantsApi, term, isRefused]);

  return search;
}

/** Whether the caller may change members, but may not read the catalog of identities. */
function isRefusal(error: unknown): boolean {
  return (
    isError(error) &&
    isError(error.cause) &&
    error.cause.name === 'IdentityCatalogNotAllowedError'
  );
}
