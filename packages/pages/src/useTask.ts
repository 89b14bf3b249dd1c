import { useState } from 'react';

/** Something that the user has asked for: whether it is under way, and how it failed last. */
export function useTask() {
  const [pending, setPending] = useState<{ of?: string }>();
  const [failed, setFailed] = useState<{
    failure: { title: string; error: unknown };
    retry: () => Promise<boolean>;
  }>();

  /**
   * @param title - what is said where it fails
   * @param of - what it is about, where there are several
   * @returns whether it is done
   */
  async function run(
    title: string,
    work: () => Promise<unknown>,
    of?: string,
  ): Promise<boolean> {
    setPending({ of });
    setFailed(undefined);
    try {
      await work();
      return true;
    } catch (error) {
      setFailed({
        failure: { title, error },
        retry: () => run(title, work, of),
      });
      return false;
    } finally {
      setPending(undefined);
    }
  }

  return {
    isPending: pending !== undefined,
    /** Whether it is about this. A button that shows it keeps the focus; a disabled one does not. */
    isPendingOf: (of: string) => pending?.of === of,
    /** For `Failure`; nothing from the next try on. */
    failure: failed?.failure,
    /** Does what has failed last once more. */
    retry: failed?.retry,
    forget: () => setFailed(undefined),
    run,
  };
}
