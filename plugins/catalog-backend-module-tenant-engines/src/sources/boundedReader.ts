import type {
  ReaderFactory,
  ReadTreeResponseFactory,
} from '@backstage/backend-defaults/urlReader';
import {
  AwsS3UrlReader,
  AzureBlobStorageUrlReader,
  AzureUrlReader,
  BitbucketCloudUrlReader,
  BitbucketServerUrlReader,
  FetchUrlReader,
  GerritUrlReader,
  GiteaUrlReader,
  GithubUrlReader,
  GitlabUrlReader,
  HarnessUrlReader,
  urlReaderFactoriesServiceRef,
  UrlReaders,
} from '@backstage/backend-defaults/urlReader';
import {
  type BackendFeature,
  coreServices,
  createServiceFactory,
  type LoggerService,
  type RootConfigService,
  type UrlReaderService,
  type UrlReaderServiceReadUrlResponse,
} from '@backstage/backend-plugin-api';
import { NotAllowedError, toError } from '@backstage/errors';
import parseGitUrl from 'git-url-parse';
import { rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { decorate } from '../engine/decorate';
import { obeyReach, Reach } from '../reach/Reach';
import { type SourceBounds, tooMuch, tooMuchUnpacked } from './bounds';
import { refuseCostly } from './patterns';

/** The readers of Backstage that read by `fetch`. */
const BY_FETCH = [
  AzureUrlReader,
  BitbucketCloudUrlReader,
  BitbucketServerUrlReader,
  GerritUrlReader,
  GithubUrlReader,
  GiteaUrlReader,
  GitlabUrlReader,
  HarnessUrlReader,
];

/** Those that read by the client of a cloud. */
const BY_CLIENT = [AwsS3UrlReader, AzureBlobStorageUrlReader];

interface ReaderBounds {
  bounds: SourceBounds;
  /** Whether the operator has listed the host of a URL. */
  isListed: (url: URL) => boolean;
}

/**
 * A feature of a tenant's backend: Backstage's reader, with limits of bytes and time for each
 * read, which connects only to hosts that the operator allows.
 */
export function boundedReaders(options: ReaderBounds): BackendFeature {
  obeyReach();
  return createServiceFactory({
    service: coreServices.urlReader,
    deps: {
      config: coreServices.rootConfig,
      logger: coreServices.logger,
      // They come before those of Backstage.
      factories: urlReaderFactoriesServiceRef,
    },
    factory: services => createReader({ ...options, ...services }),
  });
}

function createReader(
  options: ReaderBounds & {
    config: RootConfigService;
    logger: LoggerService;
    factories: ReaderFactory[];
  },
): UrlReaderService {
  const { bounds, isListed, config, logger, factories } = options;
  const within =
    (factory: ReaderFactory, search: 'search' | 'no search'): ReaderFactory =>
    ({ treeResponseFactory, ...others }) =>
      factory({
        ...others,
        treeResponseFactory: boundedTrees(treeResponseFactory, bounds),
      }).map(({ predicate, reader }) => ({
        predicate,
        reader: boundReader(reader, { bounds, isListed, search }),
      }));
  // For the readers that are not exported: Google's and that of CodeCommit.
  const others = UrlReaders.default({ config, logger });
  return UrlReaders.create({
    config,
    logger,
    factories: [
      ...factories.map(factory => within(factory, 'search')),
      ...BY_FETCH.map(({ factory }) => within(factory, 'search')),
      ...BY_CLIENT.map(({ factory }) => within(factory, 'no search')),
      within(FetchUrlReader.factory, 'search'),
      within(() => [{ predicate: () => true, reader: others }], 'no search'),
    ],
  });
}

function boundReader(
  reader: UrlReaderService,
  options: ReaderBounds & { search: 'search' | 'no search' },
): UrlReaderService {
  const { bounds, isListed, search: searches } = options;

  const begin = (bound: 'maxBytes' | 'maxArchiveBytes') => {
    const signal = AbortSignal.timeout(bounds.timeoutMs);
    const reach = new Reach({
      isListed,
      maxBytes: bounds[bound],
      beyondBytes: () => tooMuch(bound, bounds),
      signal,
    });
    return {
      signal,
      run: <T>(work: () => Promise<T>) =>
        reach.run(work).catch(error => {
          throw signal.aborted ? tooMuch('timeoutMs', bounds) : toError(error);
        }),
    };
  };

  const readUrl: UrlReaderService['readUrl'] = async (url, given) => {
    const { run, signal } = begin('maxBytes');
    const response = await run(() =>
      reader.readUrl(url, { ...given, signal: either(given?.signal, signal) }),
    );
    let content: Promise<Buffer> | undefined;
    const buffer = () => {
      content ??= run(() => contentOf(response, bounds));
      return content;
    };
    return {
      etag: response.etag,
      lastModifiedAt: response.lastModifiedAt,
      buffer,
      stream: () =>
        Readable.from(
          (async function* read() {
            yield await buffer();
          })(),
        ),
    };
  };

  return decorate(reader, {
    readUrl,
    readTree: (url, given) => {
      const { run, signal } = begin('maxArchiveBytes');
      return run(() =>
        reader.readTree(url, {
          ...given,
          signal: either(given?.signal, signal),
        }),
      );
    },
    async search(url, given) {
      if (!isPattern(url)) {
        // Like the readers, which would read it without a bound.
        try {
          const { buffer, etag, lastModifiedAt } = await readUrl(url, given);
          const files = [{ url, content: buffer, lastModifiedAt }];
          return { files, etag: etag ?? '' };
        } catch (error) {
          if (toError(error).name === 'NotFoundError') {
            return { files: [], etag: '' };
          }
          throw error;
        }
      }
      if (searches === 'no search') {
        throw new NotAllowedError(
          `The engines of tenants refuse patterns for ${
            new URL(url).host
          }, whose files have no known size: name each file`,
        );
      }
      // As some readers decode it.
      refuseCostly(decodeURIComponent(parseGitUrl(url).filepath));
      const { run, signal } = begin('maxArchiveBytes');
      const found = await run(() =>
        reader.search(url, { ...given, signal: either(given?.signal, signal) }),
      );
      if (found.files.length > bounds.maxEntities) {
        throw tooMuch('maxEntities', bounds);
      }
      return {
        ...found,
        files: found.files.map(file => ({
          ...file,
          content: () =>
            run(async () => checkSize(await file.content(), bounds)),
        })),
      };
    },
  });
}

/** Whether the readers of Backstage read a URL as a pattern of files, by their own rule. */
function isPattern(url: string): boolean {
  try {
    return /[*?]/.test(parseGitUrl(url).filepath ?? '');
  } catch {
    // The reader reports the error.
    return false;
  }
}

async function contentOf(
  response: UrlReaderServiceReadUrlResponse,
  bounds: SourceBounds,
): Promise<Buffer> {
  if (!response.stream) {
    return checkSize(await response.buffer(), bounds);
  }
  const chunks: Buffer[] = [];
  let size = 0;
  // It ends the stream where it leaves.
  for await (const chunk of response.stream()) {
    size += chunk.length;
    if (size > bounds.maxBytes) {
      throw tooMuch('maxBytes', bounds);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function checkSize(content: Buffer, bounds: SourceBounds): Buffer {
  if (content.length > bounds.maxBytes) {
    throw tooMuch('maxBytes', bounds);
  }
  return content;
}

/** How many times larger than the archive that is sent its files may be on disk. */
const UNPACKED = 10;
/** What a file takes of a disk at least. */
const BLOCK = 4_096;

/**
 * Bounds what is unpacked of archives: in memory for `files()`, on disk otherwise. A file that is
 * beyond is dropped, so that the rest of the archive is read without it.
 */
function boundedTrees(
  trees: ReadTreeResponseFactory,
  bounds: SourceBounds,
): ReadTreeResponseFactory {
  const bound =
    <TOptions extends { filter?: Filter }>(
      create: (options: TOptions) => ReturnType<typeof trees.fromZipArchive>,
    ) =>
    async (given: TOptions) => {
      let beyond: Parameters<typeof tooMuch>[0] | undefined;
      let isInMemory = false;
      let files = 0;
      let bytes = 0;
      const response = await create({
        ...given,
        filter: (path: string, info?: { size: number }) => {
          if (given.filter && !given.filter(path, info)) {
            return false;
          }
          const size = info?.size ?? 0;
          if (size > bounds.maxBytes) {
            beyond ??= 'maxBytes';
            return false;
          }
          files += 1;
          bytes += isInMemory ? size : Math.max(size, BLOCK);
          if (bytes > bounds.maxArchiveBytes * (isInMemory ? 1 : UNPACKED)) {
            beyond = 'maxArchiveBytes';
          } else if (isInMemory && files > bounds.maxEntities) {
            beyond = 'maxEntities';
          } else {
            return true;
          }
          return false;
        },
      });
      return decorate(response, {
        files: async () => {
          isInMemory = true;
          const found = await response.files();
          if (beyond) {
            throw tooMuch(beyond, bounds);
          }
          return found;
        },
        dir: async options => {
          const dir = await response.dir(options);
          if (beyond === 'maxArchiveBytes') {
            if (!options?.targetDir) {
              await rm(dir, { recursive: true });
            }
            throw tooMuchUnpacked(UNPACKED, bounds);
          }
          return dir;
        },
      });
    };
  return decorate(trees, {
    fromTarArchive: bound(given => trees.fromTarArchive(given)),
    fromZipArchive: bound(given => trees.fromZipArchive(given)),
  });
}

type Filter = (path: string, info?: { size: number }) => boolean;

function either(
  first: AbortSignal | undefined,
  second: AbortSignal,
): AbortSignal {
  return first ? AbortSignal.any([first, second]) : second;
}
