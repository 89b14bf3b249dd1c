import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Express } from 'express';

/**
 * What a file that `ServerProcess` starts calls.
 *
 * @param start - Gets the settings, and returns the URL at which it listens.
 */
export function serve<TSettings>(
  start: (settings: TSettings) => Promise<string>,
): void {
  // The channel closes when the parent ends, however that happens.
  process.once('disconnect', () => process.exit());
  process.once('message', (settings: TSettings) => {
    start(settings).then(
      url => process.send?.({ url }),
      error => {
        process.stderr.write(`${error.stack}\n`);
        process.exit(1);
      },
    );
  });
}

/** Listens on a free port, and returns the URL. */
export async function listen(app: Express): Promise<string> {
  const server: Server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
