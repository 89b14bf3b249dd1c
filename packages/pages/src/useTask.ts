import { useState } from 'react';

/** Something that the user has asked for: whether it is under way, and how it failed last. */
export function useTask() {
  const [isPending, setPending] = useState(false);
  const [failure, setFailure] = useState<{ title: string; error: unknown }>();
  return {
    isPending,
    /** For `Failure`; nothing from the next try on. */
    failure,
    forget: () => setFailure(undefined),
    /**
     * @param title - what is said where it fails
     * @returns whether it is done
     */
    async run(title: string, work: () => Promise<unknown>): Promise<boolean> {
      setPending(true);
      setFailure(undefined);
      try {
        await work();
        return true;
      } catch (error) {
        setFailure({ title, error });
        return false;
      } finally {
        setPending(false);
      }
    },
  };
}
