/**
 * The command line of the operator, which runs as soon as this is loaded.
 *
 * @packageDocumentation
 */

import { main } from './program';

// A log that can't be written, as where its disk is full, ends no command.
process.stderr.on('error', () => undefined);
// The reader of a pipe may end first, as `head` does, and a terminal may be closed.
process.stdout.on('error', error => {
  if (!['EPIPE', 'EIO'].includes((error as NodeJS.ErrnoException).code ?? '')) {
    throw error;
  }
});

main(process.argv.slice(2), process).then(
  exitCode => {
    // Flushes the output, and then exits: a configuration may have opened connections that
    // would keep the process alive.
    process.stdout.write('', () =>
      process.stderr.write('', () => process.exit(exitCode)),
    );
  },
  error => {
    process.stderr.write(`${error.stack}\n`, () => process.exit(1));
  },
);
