import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { LoadGenerator } from './load';

const CONCURRENCY = 3;
const request = () => ({ method: 'GET' as const, path: '/' });

function withResolvers() {
  let resolve = () => {};
  const promise = new Promise<void>(done => {
    resolve = done;
  });
  return { promise, resolve };
}

async function withLoadOn(
  listener: RequestListener,
  action: (load: LoadGenerator) => Promise<void>,
) {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const load = new LoadGenerator({
    url: `http://127.0.0.1:${port}`,
    concurrency: CONCURRENCY,
  });
  try {
    await action(load);
  } finally {
    await load.close();
    server.close();
  }
}

it('keeps as many requests under way as it was told to, and no more', async () => {
  let underWay = 0;
  let most = 0;
  let answered = 0;
  const { promise: allAreUnderWay, resolve: answerAll } = withResolvers();
  await withLoadOn(
    async (_req, res) => {
      underWay += 1;
      most = Math.max(most, underWay);
      if (underWay === CONCURRENCY) {
        answerAll();
      }
      // The first wait for each other, on a busy machine too.
      await Promise.race([
        allAreUnderWay,
        delay(20_000, undefined, { ref: false }),
      ]);
      underWay -= 1;
      answered += 1;
      res.end('{}');
    },
    async load => {
      const { count, perSecond, p50, p99 } = await load.run(0.2, request);
      expect(most).toBe(CONCURRENCY);
      expect(count).toBe(answered);
      expect(perSecond).toBeGreaterThan(0);
      expect(p99).toBeGreaterThanOrEqual(p50);
    },
  );
});

it('fails when a request does', async () => {
  await withLoadOn(
    (_req, res) => {
      res.writeHead(503).end('busy');
    },
    async load => {
      await expect(load.run(0.1, request)).rejects.toThrow(
        'GET / failed with 503: busy',
      );
    },
  );
});

it('fails when an answer is not as long as it should be', async () => {
  await withLoadOn(
    (_req, res) => {
      res.end('[]');
    },
    async load => {
      const expecting = (answerBytes: number) => () => ({
        ...request(),
        answerBytes,
      });
      expect((await load.run(0.01, expecting(2))).count).toBeGreaterThan(0);
      await expect(load.run(0.1, expecting(3))).rejects.toThrow(
        'GET / was answered with 2 bytes, where 3 are right',
      );
    },
  );
});
