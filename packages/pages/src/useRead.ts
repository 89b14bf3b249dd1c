import { type DependencyList, useCallback, useState } from 'react';
import useAsync from 'react-use/esm/useAsync';

/**
 * Reads what a page shows. The answer is that to the last request: `retry` sends another one, also
 * while one is under way, which may not know yet what has changed.
 */
export function useRead<TValue>(
  read: () => Promise<TValue>,
  dependencies: DependencyList,
) {
  const [times, setTimes] = useState(0);
  const state = useAsync(read, [...dependencies, times]);
  const retry = useCallback(() => setTimes(before => before + 1), []);
  return { ...state, retry, /** How often it was sent again. */ times };
}
