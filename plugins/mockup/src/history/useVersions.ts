import { useApi } from '@backstage/frontend-plugin-api';
import type { Page, Version } from 'backstage-plugin-mockup-common';
import { useCallback, useEffect, useRef, useState } from 'react';
import { mockupApiRef } from '../api';

// A page of versions carries their layouts.
const PAGE_SIZE = 20;

/** The versions of a mockup, the newest first, and more of them page by page. */
export function useVersions(mockupId: string) {
  const api = useApi(mockupApiRef);
  const [versions, setVersions] = useState<
    Page<Version> & { newestNumber: number }
  >();
  const [failure, setFailure] = useState<{
    error: unknown;
    retry: () => void;
  }>();
  const [isLoading, setLoading] = useState(true);
  const lastRead = useRef(0);

  const read = useCallback(
    async (known: Version[], cursor?: string) => {
      lastRead.current += 1;
      const mine = lastRead.current;
      setLoading(true);
      setFailure(undefined);
      try {
        const page = await api.listVersions(mockupId, {
          limit: PAGE_SIZE,
          ...(cursor !== undefined && { cursor }),
        });
        if (mine === lastRead.current) {
          setVersions(before => ({
            ...page,
            items: [...known, ...page.items],
            // Others may have saved since the first page.
            newestNumber:
              cursor !== undefined && before
                ? before.newestNumber
                : page.totalItems,
          }));
          setLoading(false);
        }
      } catch (thrown) {
        if (mine === lastRead.current) {
          setFailure({ error: thrown, retry: () => read(known, cursor) });
          setLoading(false);
        }
      }
    },
    [api, mockupId],
  );

  useEffect(() => {
    read([]);
    return () => {
      lastRead.current += 1;
    };
  }, [read]);

  return {
    versions,
    /** How reading has failed last, and what reads the same again. */
    failure,
    isLoading,
    /** Reads the newest again. */
    reload: () => read([]),
    /** Reads older ones. */
    readMore: () => read(versions?.items ?? [], versions?.nextCursor),
    /** Takes what has become of one. */
    replace: (changed: Version) =>
      setVersions(
        old =>
          old && {
            ...old,
            items: old.items.map(each =>
              each.id === changed.id ? changed : each,
            ),
          },
      ),
  };
}
