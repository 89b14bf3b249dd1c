const SIGNALS: NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

const POLL_MS = 500;

/**
 * Resolves when this process is to stop: on a signal, or when npm or yarn, which
 * ran it, is gone. Signals to npm may end there: it passes them on to a shell, and
 * many shells die of them without passing them on further.
 *
 * Later signals are ignored. Ctrl-C sends two of them, from the terminal and npm.
 */
export function stopRequest(): Promise<void> {
  return new Promise(resolve => {
    SIGNALS.forEach(signal => process.on(signal, () => resolve()));
    if (process.env.npm_lifecycle_event) {
      const parent = process.ppid;
      setInterval(() => process.ppid !== parent && resolve(), POLL_MS).unref();
    }
  });
}
