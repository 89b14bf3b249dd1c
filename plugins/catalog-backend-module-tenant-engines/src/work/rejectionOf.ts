/** Rejects with the reason of a signal once that has aborted. */
export function rejectionOf(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const end = () => reject(signal.reason);
    if (signal.aborted) {
      end();
    } else {
      signal.addEventListener('abort', end, { once: true });
    }
  });
}
