'use strict';

// Loaded into the backend by `npm start`. The channel between the two closes
// when `npm start` ends, and that includes kill -9.

const GRACE_MS = 5_000;

// Node.js loads this into its thread for module hooks too, which has no channel.
if (process.channel) {
  process.once('disconnect', () => {
    process.kill(process.pid, 'SIGTERM');
    setTimeout(() => process.exit(1), GRACE_MS).unref();
  });
  // Waiting for that alone must not keep a backend alive that has failed.
  process.channel.unref();

  // When the terminal is closed, each message fails to be written, which the
  // backend would log, and so on for ever instead of stopping.
  process.stdout.on('error', () => {});
  process.stderr.on('error', () => {});
}
