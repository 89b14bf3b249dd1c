import { NotFoundError } from '@backstage/errors';
import type {
  Mockup,
  MockupFileMockup,
  MockupFileVersion,
  Page,
  Version,
} from 'backstage-plugin-mockup-common';
import { MOCKUP_FILE } from 'backstage-plugin-mockup-common';
import type { MockupStore } from 'backstage-plugin-mockup-node';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadContext } from '../operations';

/** The number of mockups in one read. */
const MOCKUPS_AT_ONCE = 100;

/** All mockups of a store, oldest first. */
export async function* allMockups(
  store: Pick<MockupStore, 'list'>,
): AsyncGenerator<Mockup> {
  let cursor: string | undefined;
  do {
    const page = await store.list({
      orderBy: 'createdAt,asc',
      limit: MOCKUPS_AT_ONCE,
      cursor,
    });
    yield* page.items;
    cursor = page.nextCursor;
  } while (cursor !== undefined);
}

type Exporting = Pick<ReadContext, 'mockups' | 'assertStillAdmitted'>;

/**
 * Sends mockups with their versions as a file for import, with backpressure, holding one page
 * of each list in memory. An error before the first mockup is answered normally; a later one
 * truncates the file, so that it is not valid JSON. For HEAD, reads one page, for the errors.
 */
export async function sendMockupFile(
  context: Exporting & Pick<ReadContext, 'req' | 'res'>,
  mockups: AsyncIterable<Mockup>,
  fileName: string,
): Promise<void> {
  const { req, res } = context;
  const parts = writeParts(context, mockups);
  const first = await parts.next();
  res.type('application/json');
  res.attachment(fileName);
  if (req.method === 'HEAD') {
    res.end();
    return;
  }
  try {
    await pipeline(
      Readable.from(
        (async function* whole() {
          yield first.value;
          yield* parts;
        })(),
      ),
      res,
    );
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ERR_STREAM_PREMATURE_CLOSE') {
      throw error;
    }
    // The client has disconnected.
  }
}

async function* writeParts(
  context: Exporting,
  mockups: AsyncIterable<Mockup>,
): AsyncGenerator<string> {
  const { schema, version } = MOCKUP_FILE;
  let before = `{"schema":${JSON.stringify(
    schema,
  )},"version":${version},"mockups":[\n`;
  for await (const mockup of mockups) {
    const versions = await readVersions(context, mockup.id);
    if (!versions) {
      // It was deleted, or is no longer the caller's to read, since it was listed.
      continue;
    }
    const head = JSON.stringify(toFileMockup(mockup)).slice(0, -1);
    yield `${before}${head},"versions":[`;
    yield* writeVersions(context, mockup.id, versions);
    yield ']}';
    before = ',\n';
  }
  // To a caller who is removed, the list may have ended before its end.
  await context.assertStillAdmitted();
  yield `${before === ',\n' ? '' : before}\n]}\n`;
}

/** A page of a mockup's versions, oldest first; undefined if the mockup is gone. */
async function readVersions(
  { mockups, assertStillAdmitted }: Exporting,
  mockupId: string,
  cursor?: string,
): Promise<Page<Version> | undefined> {
  await assertStillAdmitted();
  const page = await mockups.listVersions(mockupId, {
    oldestFirst: true,
    cursor,
  });
  // The mockup may also go between the two statements of a page.
  const isExpected = cursor !== undefined || (page?.totalItems ?? 0) > 0;
  return page?.items.length === 0 && isExpected ? undefined : page;
}

/** @throws NotFoundError if the mockup goes meanwhile: with half of its history it would look whole */
async function* writeVersions(
  context: Exporting,
  mockupId: string,
  first: Page<Version>,
): AsyncGenerator<string> {
  /** The places of the written versions, by id. */
  const places = new Map<string, number>();
  for (let page = first; ; ) {
    for (const version of page.items) {
      yield `${places.size > 0 ? ',' : ''}\n${JSON.stringify(
        toFileVersion(version, places),
      )}`;
      places.set(version.id, places.size);
    }
    if (page.nextCursor === undefined) {
      return;
    }
    const next = await readVersions(context, mockupId, page.nextCursor);
    if (!next) {
      throw new NotFoundError(
        `The mockup '${mockupId}' was deleted while it was exported`,
      );
    }
    page = next;
  }
}

function toFileMockup(mockup: Mockup): MockupFileMockup {
  const { name, description, owner, createdAt, updatedAt } = mockup;
  return {
    name,
    ...(description !== undefined && { description }),
    owner,
    createdAt,
    updatedAt,
  };
}

function toFileVersion(
  version: Version,
  places: Map<string, number>,
): MockupFileVersion {
  const { versionTag, message, layoutData, createdBy, createdAt } = version;
  const restoredFrom = places.get(version.restoredFrom ?? '');
  return {
    ...(versionTag !== undefined && { versionTag }),
    ...(message !== undefined && { message }),
    layoutData,
    createdBy,
    createdAt,
    ...(restoredFrom !== undefined && { restoredFrom }),
  };
}
