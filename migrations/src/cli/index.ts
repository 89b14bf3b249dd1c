/**
 * The command line of the operator, which runs as soon as this is loaded.
 *
 * @packageDocumentation
 */

import { main } from './program';

// The reader of a pipe may end first, as `head` does.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', error => {
    if ((error as NodeJS.ErrnoException).code !== 'EPIPE') {
      throw error;
    }
  });
}

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
