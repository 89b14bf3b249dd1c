import { useState } from 'react';

/** Something that the user has asked for: whether it is under way, and how it failed last. */
export function useTask() {
  const [isPending, setPending] = useState(false);
  const [failed, setFailed] = useState<{
    failure: { title: string; error: unknown };
    retry: () => Promise<boolean>;
  }>();

  /**
   * @param title - what is said where it fails
   * @returns whether it is done
   */
  async function run(
    title: string,
    work: () => Promise<unknown>,
  ): Promise<boolean> {
    setPending(true);
    setFailed(undefined);
    try {
      await work();
      return true;
    } catch (error) {
      setFailed({ failure: { title, error }, retry: () => run(title, work) });
      return false;
    } finally {
      setPending(false);
    }
  }

  return {
    isPending,
    /** For `Failure`; nothing from the next try on. */
    failure: failed?.failure,
    /** Does what has failed last once more. */
    retry: failed?.retry,
    forget: () => setFailed(undefined),
    run,
  };
}
