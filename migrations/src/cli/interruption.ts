import { MigrationError } from '../errors';

// As shells count them: 128 and the number of the signal.
const EXIT_CODE = { SIGINT: 130, SIGTERM: 143 } as const;

type Signal = keyof typeof EXIT_CODE;

/** The operator has stopped the command. */
export class InterruptedError extends MigrationError {
  constructor(signal: Signal, changes: boolean) {
    super(
      `Stopped by ${signal}. ${
        changes
          ? 'What was committed stays, and the server rolls back the rest: run the ' +
            'same command again, and it goes on from there.'
          : 'Nothing was changed.'
      }`,
      EXIT_CODE[signal],
    );
  }
}

/**
 * Waits for SIGINT and SIGTERM. The first ends the command in good order; the
 * second ends the process at once.
 */
export class Interruption {
  /** Rejects with {@link InterruptedError} at the first signal, and never resolves. */
  readonly signalled: Promise<never>;
  private readonly unlisten: () => void;

  constructor(options: {
    changes: boolean;
    process?: Pick<NodeJS.Process, 'on' | 'off' | 'exit'>;
  }) {
    const { changes, process: target = process } = options;
    let reject: (error: Error) => void;
    this.signalled = new Promise<never>((_, fail) => {
      reject = fail;
    });
    // Nobody may be waiting at that moment.
    this.signalled.catch(() => undefined);
    let count = 0;
    const onSignal = (signal: NodeJS.Signals) => {
      count += 1;
      if (count > 1) {
        target.exit(EXIT_CODE[signal as Signal]);
      }
      reject(new InterruptedError(signal as Signal, changes));
    };
    target.on('SIGINT', onSignal);
    target.on('SIGTERM', onSignal);
    this.unlisten = () => {
      target.off('SIGINT', onSignal);
      target.off('SIGTERM', onSignal);
    };
  }

  /** Signals end the process again. */
  close(): void {
    this.unlisten();
  }
}
