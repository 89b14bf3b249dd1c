import { once } from 'node:events';
import { createServer, get, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { RequestsUnderWay } from './RequestsUnderWay';

describe('the requests under way at a stop', () => {
  const requests = new RequestsUnderWay();
  const server = createServer((_req, res) => {
    requests.begin(res);
    server.emit('begun', res);
  });

  beforeAll(async () => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate'] });
    server.listen(0);
    await once(server, 'listening');
  });
  afterAll(() => {
    jest.useRealTimers();
    server.closeAllConnections();
    server.close();
  });

  async function send() {
    const begun = once(server, 'begun');
    const { port } = server.address() as AddressInfo;
    const request = get({ port, agent: false });
    const outcome = new Promise<number | string>(resolve => {
      request.once('response', ({ statusCode = 0 }) => resolve(statusCode));
      request.once('error', ({ message }) => resolve(message));
    });
    const [response] = (await begun) as [ServerResponse];
    return { outcome, response };
  }

  it('are waited for, and cut off where one waits for something that does not come', async () => {
    const one = await send();
    const other = await send();
    const answered = requests.answered();
    one.response.end();
    await expect(one.outcome).resolves.toBe(200);
    jest.advanceTimersByTime(10_000);
    await answered;
    await expect(other.outcome).resolves.toBe('socket hang up');
    // It asks again.
    const later = await send();
    await expect(later.outcome).resolves.toBe('socket hang up');
  });

  it('are not those whose client left before', async () => {
    const { response } = await send();
    if (!response.closed) {
      await once(response, 'close');
    }
    const others = new RequestsUnderWay();
    others.begin(response);
    await expect(others.answered()).resolves.toBeUndefined();
  });
});
