import { useRead } from '@internal/pages';
import { type DependencyList, useRef, useState } from 'react';
import useInterval from 'react-use/esm/useInterval';

/** How often the page looks, while it expects a change. */
export const POLL_MS = 5_000;

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
  /** How often it was asked for again, also by itself. */
  times: number;
}

/**
 * Loads something, and again after an interval for as long as it is expected to change and
 * the page is visible.
 *
 * @param dependencies - what makes it another thing
 * @param isExpected - whether to ask again after this answer, or without one after this failure
 */
export function usePolled<T>(
  load: () => Promise<T>,
  dependencies: DependencyList,
  isExpected: (value: T | undefined, error?: Error) => boolean,
): Polled<T> {
  const { value: newest, ...state } = useRead(load, dependencies);
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
    isExpected(value, state.error) ? POLL_MS : null,
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
