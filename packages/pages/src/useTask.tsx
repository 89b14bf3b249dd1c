import { useState } from 'react';
import { Failure } from './Failure';
import { SlowNote } from './SlowNote';

/**
 * Something that the user has asked for: whether it is under way, and how it failed last.
 *
 * @param options.offersRetry - whether the notes have a button that tries it again
 */
export function useTask(options: { offersRetry?: boolean } = {}) {
  const [pending, setPending] = useState<readonly { of?: string }[]>([]);
  const [failed, setFailed] = useState<{
    failure: { title: string; error: unknown; isRetrying: boolean };
    retry: () => Promise<boolean>;
  }>();

  /**
   * @param title - what is said where it fails
   * @param of - what it is about, where there are several
   * @returns whether it is done
   */
  function run(
    title: string,
    work: () => Promise<unknown>,
    of?: string,
  ): Promise<boolean> {
    setFailed(undefined);
    return attempt(title, work, of);
  }

  async function attempt(
    title: string,
    work: () => Promise<unknown>,
    of: string | undefined,
  ): Promise<boolean> {
    const own = { of };
    setPending(before => [...before, own]);
    try {
      await work();
      return true;
    } catch (error) {
      const failure = { title, error, isRetrying: false };
      const retry = async () => {
        setFailed({ failure: { ...failure, isRetrying: true }, retry });
        const isDone = await attempt(title, work, of);
        if (isDone) {
          setFailed(undefined);
        }
        return isDone;
      };
      setFailed({ failure, retry });
      return false;
    } finally {
      setPending(before => before.filter(each => each !== own));
    }
  }

  const isPending = pending.length > 0;
  /** Nothing once something else is tried, or it is done. */
  const failure = failed && { ...failed.failure, isOfAction: true };
  return {
    isPending,
    /** Whether it is about this. A button that shows it keeps the focus; a disabled one does not. */
    isPendingOf: (of: string) => pending.some(each => each.of === of),
    failure,
    /** Says that it takes long, or how it has failed. */
    notes: (
      <>
        <SlowNote isPending={isPending} />
        {failure && (
          <Failure
            {...failure}
            onRetry={options.offersRetry ? failed.retry : undefined}
          />
        )}
      </>
    ),
    forget: () => setFailed(undefined),
    run,
  };
}
