import { createServer } from 'node:http';
import type { RequestListener, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { RefusedError, VerificationError } from '../../errors';
import { HttpClient } from './HttpClient';
import type { HttpClientOptions } from './HttpClient';

const TOKEN = 'the-token-of-the-operator';
const GET = { method: 'GET', path: '/' } as const;

describe('HttpClient', () => {
  let server: Server | undefined;
  afterEach(() => {
    server?.closeAllConnections();
    server?.close();
  });

  async function listen(listener: RequestListener): Promise<string> {
    server = createServer(listener);
    await new Promise<void>(resolve => {
      server!.listen(0, '127.0.0.1', resolve);
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  function clientOf(baseUrl: string, options: Partial<HttpClientOptions> = {}) {
    return new HttpClient({
      address: { baseUrl, token: TOKEN },
      onWaiting: () => undefined,
      pausesMs: [1, 1],
      ...options,
    });
  }

  it('gives up where nothing accepts connections', async () => {
    const baseUrl = await listen(() => undefined);
    await new Promise(resolve => {
      server!.close(resolve);
    });
    const attempts: number[] = [];
    const client = clientOf(baseUrl, {
      onWaiting: (_, attempt) => attempts.push(attempt),
    });
    const failure = await client.send(GET).catch(error => error);
    expect(failure).toBeInstanceOf(RefusedError);
    expect(failure.message).toBe(
      `GET ${baseUrl}/ can't be sent: nothing accepts connections there. ` +
        'Has the application started again?',
    );
    expect(attempts).toEqual([1, 2]);
  });

  it('gives up where no answer comes', async () => {
    const baseUrl = await listen(() => undefined);
    const failure = await clientOf(baseUrl, { timeoutMs: 50 })
      .send(GET)
      .catch(error => error);
    expect(failure).toBeInstanceOf(VerificationError);
    expect(failure.message).toContain('had no answer within 0.05 s');
  });

  it('gives up where an answer does not end', async () => {
    const baseUrl = await listen((_, res) => {
      res.write('[');
    });
    await expect(
      clientOf(baseUrl, { timeoutMs: 50 }).send(GET),
    ).rejects.toThrow('had no answer within 0.05 s');
  });

  it('sends nothing twice that may have arrived', async () => {
    let requests = 0;
    const baseUrl = await listen(req => {
      requests += 1;
      req.socket.destroy();
    });
    await expect(clientOf(baseUrl).send(GET)).rejects.toThrow(
      "can't be sent: the connection failed",
    );
    expect(requests).toBe(1);
  });

  it('explains a host that is not known', async () => {
    await expect(clientOf('http://portal.invalid').send(GET)).rejects.toThrow(
      "GET http://portal.invalid/ can't be sent: the host is not known.",
    );
  });

  it('shows no token that the application repeats', async () => {
    const baseUrl = await listen((_, res) => {
      res.writeHead(302, { location: `/login/${TOKEN}?token=${TOKEN}` });
      res.end(`The token ${TOKEN}`);
    });
    const client = clientOf(baseUrl);
    const answer = await client.send(GET);
    expect(answer.location).toBe('/login/***');
    expect(client.excerpt(answer)).toBe('The token ***');
  });
});
