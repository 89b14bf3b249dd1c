import { useApi } from '@backstage/frontend-plugin-api';
import { useRead } from '@internal/pages';
import type {
  ListTenantAudit,
  TenantAuditEvent,
} from 'backstage-plugin-tenants-common';
import { useState } from 'react';
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
  const [continued, setContinued] = useState<Found>();
  // Those of an earlier search are not continued.
  const before = continued?.search === search ? continued : undefined;
  const { error, loading, retry } = useRead(async () => {
    const { items, next_cursor } = await tenantsApi.listAudit(slug, {
      ...search,
      limit: PAGE,
      ...(before?.next && { cursor: before.next }),
    });
    setFound({
      search,
      events: [...(before?.events ?? []), ...items],
      next: next_cursor,
    });
  }, [tenantsApi, slug, search, before]);
  const events = found?.search === search ? found.events : undefined;
  return {
    events,
    error,
    loading,
    retry,
    showMore: found?.next ? () => setContinued(found) : undefined,
  };
}
