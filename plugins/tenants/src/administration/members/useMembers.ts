import { useApi } from '@backstage/frontend-plugin-api';
import { useRead } from '@internal/pages';
import type {
  CatalogPrincipal,
  TenantMember,
} from 'backstage-plugin-tenants-common';
import useAsync from 'react-use/esm/useAsync';
import { tenantsApiRef } from '../../api';

/** How many members a page of the table has. */
export const PAGE_SIZE = 100;

/** How many principals one request may name. */
const NAMED_AT_ONCE = 50;

/** One page of the members of a tenant, and what the identity catalog calls them. */
export function useMembers(slug: string, page: number) {
  const tenantsApi = useApi(tenantsApiRef);
  const read = useRead(() => {
    const offset = (page - 1) * PAGE_SIZE;
    return tenantsApi.listMembers(slug, { limit: PAGE_SIZE, offset });
  }, [tenantsApi, slug, page]);
  const items = read.value?.items;

  const { value: known } = useAsync(
    async () => new Map(await findNames(items ?? [])),
    [tenantsApi, slug, items],
  );

  /** Without them the table has the principals, which is what counts. */
  async function findNames(
    members: TenantMember[],
  ): Promise<[string, CatalogPrincipal][]> {
    const principals = members
      .map(({ principal }) => principal)
      .filter(principal => kindOf(principal) !== 'service');
    const chunks = Array.from(
      { length: Math.ceil(principals.length / NAMED_AT_ONCE) },
      (_, i) => principals.slice(i * NAMED_AT_ONCE, (i + 1) * NAMED_AT_ONCE),
    );
    const found = await Promise.allSettled(
      chunks.map(chunk =>
        tenantsApi.findPrincipals(slug, { principals: chunk }),
      ),
    );
    return found.flatMap(result =>
      result.status === 'fulfilled'
        ? result.value.items.map(
            each => [each.principal, each] as [string, CatalogPrincipal],
          )
        : [],
    );
  }

  return {
    ...read,
    nameOf: (principal: string) =>
      known?.get(principal)?.display_name ?? principal,
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
