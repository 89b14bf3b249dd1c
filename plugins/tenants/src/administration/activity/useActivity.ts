import { useApi } from '@backstage/frontend-plugin-api';
import type {
  ListTenantAudit,
  TenantAuditEvent,
} from 'backstage-plugin-tenants-common';
import { useState } from 'react';
import useAsyncRetry from 'react-use/esm/useAsyncRetry';
import { tenantsApiRef } from '../../api';

export type Search = Pick<ListTenantAudit, 'actor' | 'event' | 'outcome'>;

interface Found {
  search: Search;
  events: TenantAuditEvent[];
  next: string | null;
}

const PAGE = 50;

/** The events that match, a page more each time. */
export function useActivity(slug: string, search: Search) {
  const tenantsApi = useApi(tenantsApiRef);
  const [found, setFound] = useState<Found>();
  const [cursor, setCursor] = useState<string>();
  // Those of an earlier search are not continued.
  const before = found?.search === search && cursor ? found : undefined;
  const { error, loading, retry } = useAsyncRetry(async () => {
    const { items, next_cursor } = await tenantsApi.listAudit(slug, {
      ...search,
      limit: PAGE,
      ...(before && { cursor }),
    });
    setFound({
      search,
      events: [...(before?.events ?? []), ...items],
      next: next_cursor,
    });
  }, [tenantsApi, slug, search, cursor]);
  const events = found?.search === search ? found.events : undefined;
  return {
    events,
    error,
    loading,
    retry,
    showMore: found?.next ? () => setCursor(found.next!) : undefined,
  };
}
