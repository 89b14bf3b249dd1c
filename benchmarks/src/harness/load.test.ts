import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { keepAsking, keepAskingFor, type LoadRequest } from './load';

const CONNECTIONS = 3;
const REQUESTS: LoadRequest[] = ['/a', '/b', '/c'].map(path => ({
  method: 'GET',
  path,
}));

async function withServer(
  listener: RequestListener,
  action: (url: string) => Promise<void>,
) {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  try {
    await action(`http://127.0.0.1:${port}`);
  } finally {
    server.close();
  }
}

it('keeps as many different requests under way as it was told to, and waits for all answers', async () => {
  const waiting = new Map<string, () => void>();
  let answered = 0;
  let begun: () => void;
  const allAreUnderWay = new Promise<void>(resolve => {
    begun = resolve;
  });
  await withServer(
    (req, res) => {
      waiting.set(req.url!, () => {
        answered += 1;
        res.end('{}');
      });
      if (waiting.size === CONNECTIONS) {
        begun();
      }
    },
    async url => {
      const until = allAreUnderWay;
      const options = { connections: CONNECTIONS, until };
      const load = keepAsking(url, REQUESTS, options);
      await allAreUnderWay;
      // It is over by now, but for these answers.
      waiting.forEach(answer => answer());
      const { count, perSecond, p50, p99, refused } = await load;
      expect([count, answered, refused]).toEqual([3, 3, 0]);
      expect(perSecond).toBeGreaterThan(0);
      expect(p99).toBeGreaterThanOrEqual(p50);
    },
  );
});

it('fails when a request does, and counts refusals where they are allowed', async () => {
  await withServer(
    (_req, res) => {
      res.writeHead(503).end('busy');
    },
    async url => {
      const load = (allowRefusals: boolean) =>
        keepAskingFor(0.01, url, REQUESTS, { connections: 1, allowRefusals });
      await expect(load(false)).rejects.toThrow('GET /a failed with 503: busy');
      const { count, refused } = await load(true);
      expect(count).toBe(0);
      expect(refused).toBeGreaterThan(0);
    },
  );
});

it('fails when an answer is not as long as it should be', async () => {
  await withServer(
    (_req, res) => {
      res.end('[]');
    },
    async url => {
      const load = (answerLength: number) =>
        keepAskingFor(
          0.01,
          url,
          REQUESTS.map(request => ({ ...request, answerLength })),
          { connections: 1 },
        );
      expect((await load(2)).count).toBeGreaterThan(0);
      await expect(load(3)).rejects.toThrow(
        'GET /a was answered with 2 characters, where 3 are right',
      );
    },
  );
});

it('fails when nobody listens', async () => {
  await expect(
    keepAskingFor(0.01, 'http://127.0.0.1:1', REQUESTS, { connections: 1 }),
  ).rejects.toThrow('A request failed');
});
