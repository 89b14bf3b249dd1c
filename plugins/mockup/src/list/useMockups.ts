import { identityApiRef, useApi } from '@backstage/frontend-plugin-api';
import { type useListQuery, useRead } from '@internal/pages';
import type { MockupOrder } from 'backstage-plugin-mockup-common';
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

/** By whom mockups are shown, and in which order; the first of each by default. */
export const CHOICES = { of: ['all', 'mine'], order: ORDERS } as const;

type MockupQuery = ReturnType<typeof useListQuery<typeof CHOICES>>[0];

/** A part of the list. Only the answer to the last request counts. */
export function useMockups({ search, of, order, page }: MockupQuery) {
  const mockupApi = useApi(mockupApiRef);
  const identityApi = useApi(identityApiRef);
  return useRead(async () => {
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
