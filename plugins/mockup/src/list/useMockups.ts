import { identityApiRef, useApi } from '@backstage/frontend-plugin-api';
import type { MockupOrder } from 'backstage-plugin-mockup-common';
import { useSearchParams } from 'react-router-dom';
import useAsyncRetry from 'react-use/esm/useAsyncRetry';
import { mockupApiRef } from '../api';

/** How many mockups a page of the list has. */
export const PAGE_SIZE = 24;

/** The orders that the list offers. */
export const ORDERS = [
  'updatedAt,desc',
  'createdAt,desc',
  'name,asc',
  'name,desc',
] as const satisfies readonly MockupOrder[];

export type Order = (typeof ORDERS)[number];

/** Which part of a list is shown. */
export interface ListQuery {
  search: string;
  /** Whose mockups. */
  of: 'all' | 'mine';
  order: Order;
  /** From 1 on. */
  page: number;
}

/** What is shown is in the address, so that back, reload and links work. */
export function useListQuery(): [
  ListQuery,
  (changes: Partial<ListQuery>, how?: 'push' | 'replace') => void,
] {
  const [params, setParams] = useSearchParams();
  const page = Number(params.get('page') ?? 1);
  const query: ListQuery = {
    search: params.get('search') ?? '',
    of: params.get('of') === 'mine' ? 'mine' : 'all',
    order: ORDERS.find(each => each === params.get('order')) ?? ORDERS[0],
    page: Number.isSafeInteger(page) && page > 0 ? page : 1,
  };
  const setQuery = (changes: Partial<ListQuery>, how = 'push') => {
    const next = { ...query, ...changes };
    setParams(
      {
        ...(next.search && { search: next.search }),
        ...(next.of === 'mine' && { of: next.of }),
        ...(next.order !== ORDERS[0] && { order: next.order }),
        ...(next.page > 1 && { page: String(next.page) }),
      },
      { replace: how === 'replace' },
    );
  };
  return [query, setQuery];
}

/** A part of the list. The answer to the last question counts, whichever comes last. */
export function useMockups({ search, of, order, page }: ListQuery) {
  const mockupApi = useApi(mockupApiRef);
  const identityApi = useApi(identityApiRef);
  return useAsyncRetry(async () => {
    const owner =
      of === 'mine'
        ? (await identityApi.getBackstageIdentity()).userEntityRef
        : undefined;
    return mockupApi.listMockups({
      limit: PAGE_SIZE,
      offset: (page - 1) * PAGE_SIZE,
      orderBy: order,
      ...(search && { search }),
      ...(owner && { owner }),
    });
  }, [mockupApi, identityApi, search, of, order, page]);
}
