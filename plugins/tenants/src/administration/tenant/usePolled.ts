import { toError } from '@backstage/errors';
import { useCallback, useEffect, useRef, useState } from 'react';

/** What was loaded last, and how that went. */
export interface Polled<T> {
  /** The last answer; it stays when a later request fails. */
  value?: T;
  /** Why the last request failed. */
  error?: Error;
  loading: boolean;
  /** Asks again at once. */
  refresh: () => void;
}

/**
 * Loads something, and again after an interval for as long as it is expected to change and
 * the page is visible. It stops when what uses it is gone.
 *
 * @param load - the same function as long as it loads as much; always of the same thing
 * @param isExpected - whether to ask again after this answer
 */
export function usePolled<T>(
  load: () => Promise<T>,
  isExpected: (value: T) => boolean,
  intervalMs: number,
): Polled<T> {
  const [state, setState] = useState<{ value?: T; error?: Error }>({});
  const [loading, setLoading] = useState(true);
  const [isVisible, setVisible] = useState(isPageVisible);
  const current = useRef<symbol>();

  const refresh = useCallback(async () => {
    const own = Symbol('request');
    current.current = own;
    const isCurrent = () => current.current === own;
    setLoading(true);
    try {
      const value = await load();
      if (isCurrent()) {
        setState({ value });
      }
    } catch (thrown) {
      if (isCurrent()) {
        setState(({ value }) => ({ value, error: toError(thrown) }));
      }
    }
    if (isCurrent()) {
      setLoading(false);
    }
  }, [load]);

  useEffect(() => {
    refresh();
    return () => {
      current.current = undefined;
    };
  }, [refresh]);

  useEffect(() => {
    const onChange = () => setVisible(isPageVisible());
    document.addEventListener('visibilitychange', onChange);
    return () => document.removeEventListener('visibilitychange', onChange);
  }, []);

  const { value } = state;
  const isDue =
    isVisible && !loading && value !== undefined && isExpected(value);
  useEffect(() => {
    if (!isDue) {
      return undefined;
    }
    const timer = setTimeout(refresh, intervalMs);
    return () => clearTimeout(timer);
  }, [isDue, refresh, intervalMs]);

  return { ...state, loading, refresh };
}

function isPageVisible(): boolean {
  return document.visibilityState !== 'hidden';
}
