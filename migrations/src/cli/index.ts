/**
 * The command line of the operator, which runs as soon as this is loaded.
 *
 * @packageDocumentation
 */

import { main } from './program';

// Whoever reads the output may end first, as `head` does.
process.stdout.on('error', error => {
  if ((error as NodeJS.ErrnoException).code !== 'EPIPE') {
    throw error;
  }
});

main(process.argv.slice(2), process).then(
  exitCode => {
    // All is written before the process ends. It does not wait for anything else:
    // a configuration may have opened connections of its own.
    process.stdout.write('', () =>
      process.stderr.write('', () => process.exit(exitCode)),
    );
  },
  error => {
    process.stderr.write(`${error.stack}\n`, () => process.exit(1));
  },
);
