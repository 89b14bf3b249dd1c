import {
  mockServices,
  ServiceFactoryTester,
} from '@backstage/backend-test-utils';
import { urlReaderFactoriesServiceRef } from '@backstage/backend-defaults/urlReader';
import {
  createServiceFactory,
  type ServiceFactory,
  type UrlReaderService,
} from '@backstage/backend-plugin-api';
import { TestServer } from '@internal/catalog-testing/TestServer';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tarOf } from '../__testUtils__/tarOf';
import { rejectionOf } from '../work/rejectionOf';
import { boundedReaders } from './boundedReader';
import { DEFAULT_BOUNDS, type SourceBounds } from './bounds';

const MIB = 1024 * 1024;

describe('a pattern of files', () => {
  let archive: Buffer;
  let server: TestServer;

  beforeEach(async () => {
    server = await new TestServer((req, res) => {
      res.end(
        req.url!.includes('/branches')
          ? JSON.stringify({
              size: 1,
              values: [{ displayId: 'main', latestCommit: '0123456789abcdef' }],
            })
          : archive,
      );
    }).listen();
  });

  afterEach(() => server.stop());

  const URL_OF_FILES = () =>
    `${server.url}/projects/p/repos/r/browse/**/catalog-info.yaml?at=main`;

  async function search(bounds: Partial<SourceBounds>, url = URL_OF_FILES()) {
    const { files } = await (await createReader(bounds)).search(url);
    return Promise.all(files.map(file => file.content()));
  }

  async function createReader(
    bounds: Partial<SourceBounds>,
    {
      workingDirectory = tmpdir(),
      reader,
    }: { workingDirectory?: string; reader?: UrlReaderService } = {},
  ) {
    return (await ServiceFactoryTester.from(
      boundedReaders({
        bounds: { ...DEFAULT_BOUNDS, ...bounds },
        isListed: () => true,
      }) as ServiceFactory<UrlReaderService, 'plugin'>,
      {
        dependencies: [
          createServiceFactory({
            service: urlReaderFactoriesServiceRef,
            deps: {},
            factory: () => () =>
              reader ? [{ predicate: () => true, reader }] : [],
          }),
          mockServices.rootConfig.factory({
            data: {
              backend: { workingDirectory },
              integrations: {
                bitbucketServer: [
                  {
                    host: server.host,
                    token: 'x',
                    apiBaseUrl: `${server.url}/rest/api/1.0`,
                  },
                ],
              },
            },
          }),
        ],
      },
    ).getSubject()) as UrlReaderService;
  }

  it('ends the reads of any client with its time, and with the caller', async () => {
    const signals: AbortSignal[] = [];
    const hang = (_url: string, options?: { signal?: unknown }) => {
      signals.push(options!.signal as AbortSignal);
      return rejectionOf(signals.at(-1)!);
    };
    const reader = await createReader(
      { timeoutMs: 50 },
      { reader: { readUrl: hang, readTree: hang, search: hang } },
    );
    for (const read of ['readUrl', 'readTree', 'search'] as const) {
      await expect(reader[read](URL_OF_FILES())).rejects.toThrow(
        'longer than 50 ms',
      );
      const signal = AbortSignal.abort(new Error('has left')) as never;
      await expect(reader[read](URL_OF_FILES(), { signal })).rejects.toThrow(
        'has left',
      );
    }
    expect(signals.map(({ aborted }) => aborted)).toEqual(Array(6).fill(true));
  });

  it('finds files beside others that are larger than a file may be', async () => {
    archive = tarOf({
      'a/catalog-info.yaml': Buffer.from('a: 1'),
      'a/image': Buffer.alloc(100_000),
    });
    const found = await search({ maxBytes: 10_000 });
    expect(found.map(String)).toEqual(['a: 1']);
  });

  it('is looked for in no archive that is too large', async () => {
    archive = tarOf({ 'a/image': randomBytes(100_000) });
    await expect(search({ maxArchiveBytes: 10_000 })).rejects.toThrow(
      'takes more than 10,000 bytes to be searched',
    );
  });

  it('finds no file that is too large when it is unpacked', async () => {
    archive = tarOf({ 'a/catalog-info.yaml': Buffer.alloc(100_000) });
    await expect(search({ maxBytes: 10_000 })).rejects.toThrow(
      'is larger than 10,000 bytes',
    );
  });

  it('finds no more files than a location may have entities', async () => {
    archive = tarOf({
      'a/catalog-info.yaml': Buffer.from('a: 1'),
      'b/catalog-info.yaml': Buffer.from('b: 1'),
    });
    await expect(search({ maxEntities: 1 })).rejects.toThrow(
      'has more than 1 entities',
    );
  });

  it('finds no files that are more together than an archive may be, however well they are packed', async () => {
    archive = tarOf(
      Object.fromEntries(
        Array.from({ length: 50 }, (_, i) => [
          `${i}/catalog-info.yaml`,
          Buffer.alloc(MIB),
        ]),
      ),
    );
    await expect(
      search({ maxArchiveBytes: 2 * MIB, maxBytes: MIB }),
    ).rejects.toThrow('takes more than 2,097,152 bytes to be searched');
  });

  it('is unpacked to no disk where its files are far larger than an archive may be', async () => {
    archive = tarOf(
      Object.fromEntries(
        Array.from({ length: 30 }, (_, i) => [`${i}/docs`, Buffer.alloc(MIB)]),
      ),
    );
    const folder = await mkdtemp(join(tmpdir(), 'unpacked-'));
    try {
      const unpack = async (maxArchiveBytes: number) => {
        const reader = await createReader(
          { maxArchiveBytes },
          { workingDirectory: folder },
        );
        const tree = await reader.readTree(
          `${server.url}/projects/p/repos/r/browse?at=main`,
        );
        return tree.dir();
      };
      await expect(unpack(2 * MIB)).rejects.toThrow(
        'has more than 20,971,520 bytes of files, 10 times the bound',
      );
      expect(await readdir(folder)).toEqual([]);
      expect(await readdir(await unpack(3 * MIB))).not.toEqual([]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it.each([
    ['stars', '*a'.repeat(12)],
    ['encoded stars', `*${'%2Aa'.repeat(12)}`],
    ['stars in lists', `${'{*a*,x/}'.repeat(3)}*b`],
    ['lists', `${'{a,b}'.repeat(17)}*`],
    ['a range', '{1..99999}*'],
    ['repeated alternatives', '+(a|aa)*'],
    ['folders', `${'**/a/'.repeat(20)}*`],
  ])('is refused where it may take long to match: %s', async (_, pattern) => {
    archive = tarOf({ [`${'a'.repeat(90)}.yaml`]: Buffer.from('a: 1') });
    await expect(
      search(
        {},
        `${server.url}/projects/p/repos/r/browse/${pattern}c.yaml?at=main`,
      ),
    ).rejects.toThrow('may take long to match');
  });

  it.each(['b.s3.eu-west-1.amazonaws.com', 'storage.cloud.google.com'])(
    'is refused where the size of files is not known before they are read, at %s',
    async host => {
      await expect(
        search({}, `https://${host}/o/r/blob/main/*.yaml`),
      ).rejects.toThrow('refuse patterns for');
    },
  );
});
