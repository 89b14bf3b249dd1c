import { urlReaderFactoriesServiceRef } from '@backstage/backend-defaults/urlReader';
import {
  createServiceFactory,
  type UrlReaderService,
} from '@backstage/backend-plugin-api';
import { NotFoundError } from '@backstage/errors';
import { setTimeout as delay } from 'node:timers/promises';

/** What a file has that ends the process of which an engine reads it. */
export const LETHAL = '# kill -9';

/** What a file has whose read does not end. */
export const ENDLESS = '# endless';

const reader: UrlReaderService = {
  async readUrl(url) {
    const text = await (await fetch(url)).text();
    if (text.includes(LETHAL)) {
      process.kill(process.pid, 'SIGKILL');
      // Nothing else of the process has a turn meanwhile.
      for (;;);
    }
    if (text.includes(ENDLESS)) {
      await delay(2 ** 31 - 1);
    }
    return { buffer: async () => Buffer.from(text) };
  },
  async readTree() {
    throw new NotFoundError('Not of the test');
  },
  async search() {
    throw new NotFoundError('Not of the test');
  },
};

/** A reader of engines that a source can have end the process. */
export const lethalReader = createServiceFactory({
  service: urlReaderFactoriesServiceRef,
  deps: {},
  factory: () => () => [{ predicate: () => true, reader }],
});
