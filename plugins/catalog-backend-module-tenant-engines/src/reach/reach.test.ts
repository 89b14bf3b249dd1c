import {
  mockServices,
  ServiceFactoryTester,
} from '@backstage/backend-test-utils';
import {
  type ServiceFactory,
  type UrlReaderService,
} from '@backstage/backend-plugin-api';
import type { JsonObject } from '@backstage/types';
import { TestServer } from '@internal/catalog-testing/TestServer';
import { withDeadline } from '@internal/postgres/testUtils';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, get, type RequestOptions } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { boundedReaders } from '../sources/boundedReader';
import { DEFAULT_BOUNDS } from '../sources/bounds';
import { isPublic } from './addresses';
import { obeyReach, Reach } from './Reach';

/** Answers each request, or leads it elsewhere, and keeps who asked for what. */
class Host extends TestServer {
  readonly asked: string[] = [];
  location?: string;

  constructor() {
    super((req, res) => {
      this.asked.push(req.url!);
      if (this.location) {
        res.writeHead(302, { location: this.location });
      }
      res.end('hello');
    });
  }

  get port(): string {
    return new URL(this.url).port;
  }
}

describe('what the reads of a tenant may reach', () => {
  let listed: Host;
  let secret: Host;

  beforeEach(async () => {
    obeyReach();
    listed = await new Host().listen();
    secret = await new Host().listen();
  });
  afterEach(() => {
    listed.stop();
    secret.stop();
  });

  const isListed = (url: URL) => url.host === listed.host;
  const read = (url: string) =>
    new Reach({ isListed }).run(async () => (await fetch(url)).text());

  it('is a host that the operator has listed, whatever its address', async () => {
    await expect(read(`http://${listed.host}/a`)).resolves.toBe('hello');
  });

  it.each([
    ['its address', () => `http://${secret.host}/`],
    ['a name', () => `http://localhost:${secret.port}/`],
    ['a number', () => `http://2130706433:${secret.port}/`],
    ['an address of IPv6', () => `http://[::1]:${secret.port}/`],
    ['IPv4 in IPv6', () => `http://[::ffff:127.0.0.1]:${secret.port}/`],
    ['any address', () => `http://0.0.0.0:${secret.port}/`],
    ['the credentials of a cloud', () => 'http://169.254.169.254/latest/'],
  ])('is no other host inside of a network, by %s', async (_, url) => {
    const refusal = {
      name: 'NotAllowedError',
      message: expect.stringContaining('the operator has not listed that host'),
    };
    await expect(read(url())).rejects.toMatchObject(refusal);
    // Whatever the work makes of it.
    const work = () => fetch(url()).catch(() => Promise.reject(new Error()));
    await expect(new Reach({ isListed }).run(work)).rejects.toMatchObject(
      refusal,
    );
    listed.location = url();
    await expect(read(`http://${listed.host}/b`)).rejects.toMatchObject(
      refusal,
    );
    expect(secret.asked).toEqual([]);
  });

  const getByHttp = (target: string | RequestOptions) =>
    new Promise<number | undefined>((resolve, reject) => {
      get(target, res => {
        res.resume().once('end', () => resolve(res.statusCode));
      }).once('error', reject);
    });

  it('ends a connection by node:http that brings more than may come', async () => {
    const url = `http://${listed.host}/`;
    const within = (maxBytesOfConnection: number) =>
      new Reach({ isListed, maxBytesOfConnection }).run(() => getByHttp(url));
    await expect(within(10_000)).resolves.toBe(200);
    // Less than the headers.
    await expect(within(50)).rejects.toThrow('more than 50 bytes');
  });

  it.each(['127.0.0.1', 'localhost'])(
    'is no other host by node:http either, nor by a connection that is open, by %s',
    async name => {
      const url = `http://${name}:${secret.port}/`;
      await expect(getByHttp(url)).resolves.toBe(200);
      const reach = new Reach({ isListed });
      await expect(reach.run(() => getByHttp(url))).rejects.toMatchObject({
        name: 'NotAllowedError',
      });
      expect(secret.asked).toHaveLength(1);
      await expect(
        reach.run(() => getByHttp(`http://${listed.host}/`)),
      ).resolves.toBe(200);
    },
  );

  it('is no socket of this machine, whatever host the request names', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'reach-'));
    const socketPath = join(folder, 'socket');
    const answering = createServer((_req, res) => res.end()).listen(socketPath);
    await once(answering, 'listening');
    try {
      const ask = () => getByHttp({ socketPath, host: 'localhost' });
      await expect(ask()).resolves.toBe(200);
      for (const listing of [isListed, () => true]) {
        await expect(
          new Reach({ isListed: listing }).run(ask),
        ).rejects.toMatchObject({ name: 'NotAllowedError' });
      }
    } finally {
      answering.closeAllConnections();
      answering.close();
      await rm(folder, { recursive: true });
    }
  });

  it('asks for answers as they are, where their bytes are counted', async () => {
    const echo = await new TestServer((req, res) => {
      if (req.url === '/packed') {
        res.setHeader('content-encoding', 'gzip');
      }
      res.end(req.headers['accept-encoding']);
    }).listen();
    const ask = (path: string) =>
      new Reach({ isListed: () => true, maxBytes: 100 }).run(async () =>
        (await fetch(`${echo.url}${path}`)).text(),
      );
    try {
      await expect(ask('/')).resolves.toBe('identity');
      await expect(ask('/packed')).rejects.toThrow('sent compressed (gzip)');
    } finally {
      await echo.stop();
    }
  });

  it('begins nothing once its time is over, and ends its requests with it', async () => {
    const over = new AbortController();
    let closed: Promise<unknown> | undefined;
    const silent = await new TestServer(req => {
      closed = once(req.socket, 'close');
      over.abort(new Error('too late'));
    }).listen();
    const reach = new Reach({ isListed: () => true, signal: over.signal });
    const ask = jest.fn(() => fetch(silent.url));
    try {
      await expect(reach.run(ask)).rejects.toThrow('too late');
      await withDeadline('the end of the request', closed!);
      await expect(reach.run(ask)).rejects.toThrow('too late');
      expect(ask).toHaveBeenCalledTimes(1);
      const later = new AbortController();
      const hung = new Reach({
        isListed: () => true,
        signal: later.signal,
      }).run(() => new Promise(() => undefined));
      later.abort(new Error('too late'));
      await expect(hung).rejects.toThrow('too late');
    } finally {
      await silent.stop();
    }
  });

  it('does not concern others of the process', async () => {
    const response = await fetch(`http://${secret.host}/mine`);
    await expect(response.text()).resolves.toBe('hello');
  });

  const base = () => `http://${listed.host}`;
  const integrations: Record<
    string,
    () => { config: JsonObject; url: string }
  > = {
    azure: () => ({
      config: { azure: [{ host: listed.host }] },
      url: `${base()}/o/p/_git/r?path=%2Fa.yaml`,
    }),
    bitbucketServer: () => ({
      config: {
        bitbucketServer: [
          {
            host: listed.host,
            token: 'x',
            apiBaseUrl: `${base()}/rest/api/1.0`,
          },
        ],
      },
      url: `${base()}/projects/p/repos/r/browse/a.yaml`,
    }),
    gerrit: () => ({
      config: {
        gerrit: [
          { host: listed.host, baseUrl: base(), gitilesBaseUrl: base() },
        ],
      },
      url: `${base()}/p/+/refs/heads/main/a.yaml`,
    }),
    gitea: () => ({
      config: { gitea: [{ host: listed.host, baseUrl: base() }] },
      url: `${base()}/o/r/src/branch/main/a.yaml`,
    }),
    github: () => ({
      config: { github: [{ host: listed.host, rawBaseUrl: `${base()}/raw` }] },
      url: `${base()}/o/r/blob/main/a.yaml`,
    }),
    gitlab: () => ({
      config: {
        gitlab: [
          {
            host: listed.host,
            baseUrl: base(),
            apiBaseUrl: `${base()}/api/v4`,
          },
        ],
      },
      url: `${base()}/g/r/-/blob/main/a.yaml`,
    }),
    'backend.reading.allow': () => ({ config: {}, url: `${base()}/a.yaml` }),
  };

  it.each(Object.keys(integrations))(
    'is not extended by a redirect of %s',
    async name => {
      listed.location = `http://${secret.host}/base.yaml`;
      const { config, url } = integrations[name]();
      const reader = (await ServiceFactoryTester.from(
        boundedReaders({
          bounds: DEFAULT_BOUNDS,
          isListed,
        }) as ServiceFactory<UrlReaderService, 'plugin'>,
        {
          dependencies: [
            mockServices.rootConfig.factory({
              data: {
                backend: { reading: { allow: [{ host: listed.host }] } },
                integrations: config,
              },
            }),
          ],
        },
      ).getSubject()) as UrlReaderService;
      await expect(reader.search(url)).rejects.toThrow(
        /not listed that host|not allowed/,
      );
      expect(listed.asked).not.toEqual([]);
      expect(secret.asked).toEqual([]);
    },
  );

  it.each([
    ['8.8.8.8', true],
    ['2606:4700::1111', true],
    ['10.1.2.3', false],
    ['100.64.0.1', false],
    ['127.0.0.1', false],
    ['169.254.169.254', false],
    ['172.31.255.255', false],
    ['172.32.0.1', true],
    ['192.168.1.1', false],
    ['224.0.0.1', false],
    ['255.255.255.255', false],
    ['::', false],
    ['::1', false],
    ['::ffff:10.0.0.1', false],
    ['::ffff:8.8.8.8', false],
    ['64:ff9b::a00:1', false],
    ['2002:a00:1::', false],
    ['fc00::1', false],
    ['fd00:ec2::254', false],
    ['fe80::1', false],
    ['no address', false],
  ])('counts %s as public: %s', (address, expected) => {
    expect(isPublic(address)).toBe(expected);
  });
});
