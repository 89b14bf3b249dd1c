import { useEffect, useState } from 'react';

/** The pause in typing after which a search is sent. */
export const DEBOUNCE_MS = 250;

/** What is known of a search. */
export type Search<T> =
  | { state: 'idle' | 'searching' }
  | { state: 'done'; answer: T };

/**
 * Searches while somebody types. The answer is that to the last text, in whatever order answers
 * come.
 *
 * @param find - never rejects; another one searches again
 * @param text - what to search for; nothing while there is nothing to search
 */
export function useSearch<T>(
  find: (text: string) => Promise<T>,
  text: string | undefined,
): Search<T> {
  const [search, setSearch] = useState<Search<T>>({ state: 'idle' });
  useEffect(() => {
    if (text === undefined) {
      setSearch({ state: 'idle' });
      return undefined;
    }
    let isCurrent = true;
    setSearch({ state: 'searching' });
    const timer = setTimeout(
      async () => {
        const answer = await find(text);
        if (isCurrent) {
          setSearch({ state: 'done', answer });
        }
      },
      // Nothing typed yet: the first ones.
      text === '' ? 0 : DEBOUNCE_MS,
    );
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [find, text]);
  return search;
}
