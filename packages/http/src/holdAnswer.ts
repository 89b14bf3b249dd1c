import type { Response } from 'express';

/**
 * Holds back the end of a response, so that its caller is not answered before something else is
 * done. It is for short answers: the rest of a long one is sent as it is written.
 *
 * @returns ends the response where the handler has, and lets the handler end it from then on
 */
export function holdAnswer(res: Response): () => void {
  const end = res.end as (...args: unknown[]) => Response;
  let held: unknown[] | undefined;
  res.end = ((...args: unknown[]) => {
    held ??= args;
    return res;
  }) as Response['end'];
  return () => {
    res.end = end as Response['end'];
    if (held) {
      end.apply(res, held);
    }
  };
}
