import { type DependencyList, useEffect, useRef, useState } from 'react';

/**
 * Reads a list page after page. Only the answer to the last request counts.
 *
 * @param read - the page behind a cursor, the first one without
 * @param dependencies - what makes the list another one
 */
export function usePages<
  TPage extends { items: unknown[]; nextCursor?: string | null },
>(
  read: (cursor: string | undefined) => Promise<TPage>,
  dependencies: DependencyList,
) {
  type Item = TPage['items'][number];
  const [pages, setPages] = useState<TPage[]>([]);
  const [loading, setLoading] = useState(true);
  const [failure, setFailure] = useState<{
    error: unknown;
    retry: () => void;
  }>();
  const lastRead = useRef(0);

  async function readBehind(known: TPage[]): Promise<void> {
    lastRead.current += 1;
    const own = lastRead.current;
    setLoading(true);
    try {
      const page = await read(known.at(-1)?.nextCursor ?? undefined);
      if (own === lastRead.current) {
        setFailure(undefined);
        setPages([...known, page]);
        setLoading(false);
      }
    } catch (error) {
      if (own === lastRead.current) {
        setFailure({ error, retry: () => readBehind(known) });
        setLoading(false);
      }
    }
  }

  useEffect(() => {
    setFailure(undefined);
    setPages([]);
    readBehind([]);
    return () => {
      lastRead.current += 1;
    };
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, dependencies);

  return {
    /** Those that were read; none yet while the first one is. */
    pages,
    items: pages.flatMap(({ items }): Item[] => items),
    loading,
    /** How reading has failed last. */
    error: failure?.error,
    /** Reads again what was not read. */
    retry: () => failure?.retry(),
    /** Reads the first page again. */
    reload: () => readBehind([]),
    /** Reads the next page; nothing where there is none. */
    readMore: pages.at(-1)?.nextCursor ? () => readBehind(pages) : undefined,
    /** Takes what has become of items. */
    replace: (change: (item: Item) => Item) =>
      setPages(before =>
        before.map(page => ({ ...page, items: page.items.map(change) })),
      ),
  };
}
