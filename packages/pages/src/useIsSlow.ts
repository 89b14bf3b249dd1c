import { useEffect, useState } from 'react';

/** After this time, a page says what it waits for. */
export const SLOW_MS = 4_000;

/** Whether something takes long. */
export function useIsSlow(isPending: boolean): boolean {
  const [isSlow, setSlow] = useState(false);
  useEffect(() => {
    if (!isPending) {
      return undefined;
    }
    const timer = setTimeout(() => setSlow(true), SLOW_MS);
    return () => {
      clearTimeout(timer);
      setSlow(false);
    };
  }, [isPending]);
  return isSlow;
}
