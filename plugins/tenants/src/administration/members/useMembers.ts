import { useApi } from '@backstage/frontend-plugin-api';
import { useRead } from '@internal/pages';
import useAsync from 'react-use/esm/useAsync';
import { tenantsApiRef } from '../../api';

/** How many members a page of the table has: one request may name as many. */
export const PAGE_SIZE = 50;

/** One page of the members of a tenant, and what the identity catalog calls them. */
export function useMembers(slug: string, page: number) {
  const tenantsApi = useApi(tenantsApiRef);
  const read = useRead(() => {
    const offset = (page - 1) * PAGE_SIZE;
    return tenantsApi.listMembers(slug, { limit: PAGE_SIZE, offset });
  }, [tenantsApi, slug, page]);
  const items = read.value?.items;

  // Without them the table has the principals, which is what counts.
  const { value: known } = useAsync(async () => {
    const principals = (items ?? [])
      .map(({ principal }) => principal)
      .filter(principal => kindOf(principal) !== 'service');
    return principals.length > 0
      ? (await tenantsApi.findPrincipals(slug, { principals })).items
      : [];
  }, [tenantsApi, slug, items]);

  return {
    ...read,
    nameOf: (principal: string) =>
      known?.find(each => each.principal === principal)?.display_name ??
      principal,
  };
}

/** What a principal is, which its form says. */
export function kindOf(principal: string): 'user' | 'group' | 'service' {
  const kind = principal.match(/^(user|group):/i)?.[1].toLowerCase();
  return kind === 'user' || kind === 'group' ? kind : 'service';
}

/** Whether a text can only be the subject of a service, as names of people can, too. */
export function isPlainSubject(text: string): boolean {
  return !/^[a-z]+:/i.test(text);
}
