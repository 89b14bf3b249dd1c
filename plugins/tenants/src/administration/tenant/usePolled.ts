import { useRead } from '@internal/pages';
import { useRef, useState } from 'react';
import useInterval from 'react-use/esm/useInterval';

/** What was loaded last, and how that went. */
export interface Polled<T> {
  /** The last answer; it stays when a later request fails. */
  value?: T;
  /** Why the last request failed. */
  error?: Error;
  /** Whether it is being read for the first time, or because it was asked to. */
  loading: boolean;
  /** Asks again at once. */
  retry: () => void;
}

/**
 * Loads something, and again after an interval for as long as it is expected to change and
 * the page is visible.
 *
 * @param load - the same function as long as it loads as much; always of the same thing
 * @param isExpected - whether to ask again after this answer
 */
export function usePolled<T>(
  load: () => Promise<T>,
  isExpected: (value: T) => boolean,
  intervalMs: number,
): Polled<T> {
  const { value: newest, ...state } = useRead(load, [load]);
  const [isAsked, setAsked] = useState(false);
  const last = useRef<T>();
  last.current = newest ?? last.current;
  const value = last.current;
  useInterval(
    () => {
      if (!state.loading && document.visibilityState !== 'hidden') {
        setAsked(false);
        state.retry();
      }
    },
    value !== undefined && isExpected(value) ? intervalMs : null,
  );
  return {
    ...state,
    value,
    loading: state.loading && (isAsked || value === undefined),
    retry: () => {
      setAsked(true);
      state.retry();
    },
  };
}
