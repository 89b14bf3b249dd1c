import type { Response } from 'express';

/** Calls a listener once a response is sent or its client has left, which may have been before. */
export function whenClosed(res: Response, listener: () => void): void {
  if (res.closed) {
    listener();
  } else {
    res.once('close', listener);
  }
}
