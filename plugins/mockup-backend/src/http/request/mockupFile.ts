import { CustomErrorBase, InputError } from '@backstage/errors';
import { createBodyReader } from '@internal/http';
import { parseInput } from '@internal/http-client';
import {
  MOCKUP_FILE,
  MOCKUP_LIMITS,
  mockupFileMockupSchema,
  mockupFileVersionSchema,
} from 'backstage-plugin-mockup-common';
import type { ImportedPart } from 'backstage-plugin-mockup-node';
import type { Request, Response } from 'express';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { FilePieces } from './FilePieces';

/** How long the file of an import may take to arrive. */
const READ_MS = 60_000;

/** How often it is looked at whether the file arrives, and how fast it has to. */
const CHECKS = 6;
const MIN_BYTES_PER_SECOND = 64 * 1024;

/** The limits of an import. */
export interface ImportBounds {
  maxBytes: number;
  /** The most versions of all mockups together. */
  maxVersions: number;
  /** How long the file may take to arrive; {@link READ_MS} if undefined. */
  readMs?: number;
}

const fileSchema = z.strictObject(
  {
    schema: z.literal(MOCKUP_FILE.schema, {
      error: JSON.stringify(MOCKUP_FILE.schema),
    }),
    version: z.literal(MOCKUP_FILE.version, {
      error: `${MOCKUP_FILE.version}, as this version of the plugin writes it`,
    }),
    mockups: z
      .array(z.unknown(), { error: 'a list' })
      .max(
        MOCKUP_LIMITS.importedMockups,
        `at most ${MOCKUP_LIMITS.importedMockups} mockups`,
      ),
  },
  { error: 'an object with schema, version and mockups' },
);

// Required even if empty, so that a truncated and repaired file is detected.
const versionsSchema = z.looseObject(
  { versions: z.array(z.unknown(), { error: 'a list of versions' }) },
  { error: 'a mockup' },
);

/** Reads a file of exported mockups from the body of a request. */
export type MockupFileReader = (
  req: Request,
  res: Response,
) => AsyncGenerator<ImportedPart>;

/** The file did not arrive in time. */
class RequestTimeoutError extends CustomErrorBase {
  name = 'RequestTimeoutError' as const;
  readonly statusCode = 408;
}

/**
 * Creates a reader of exported mockups. It reads the whole body before it yields the first part, so
 * that no part waits for the client.
 *
 * @returns a function that throws `InputError` with the path in the document and the expected
 * form, or an error with status 408, 413 or 415
 */
export function createMockupFileReader({
  maxBytes,
  maxVersions,
  readMs = READ_MS,
}: ImportBounds): MockupFileReader {
  const readBody = createBodyReader({ limit: maxBytes, asText: true });
  return async function* read(req, res) {
    const body = await withDeadline(readBody(req, res), readMs, { req, res });
    const pieces = new FilePieces((body as string | undefined) ?? 'null', {
      maxCharacters: MOCKUP_LIMITS.layoutBytes,
    });
    try {
      for await (const part of partsOf(pieces, maxVersions)) {
        // Throwing rolls the import back.
        if (req.socket.destroyed) {
          throw new InputError(
            'The caller has left before the import was complete',
          );
        }
        yield part;
      }
    } finally {
      await pieces.close();
    }
  };
}

/**
 * Waits for the file, for a minute at most. A caller who sends nothing, or next to nothing, is given up
 * sooner: few imports run at a time, and others wait for their end.
 */
async function withDeadline<T>(
  reading: Promise<T>,
  ms: number,
  { req, res }: { req: Request; res: Response },
): Promise<T> {
  const done = new AbortController();
  const { socket } = req;
  const before = socket.bytesRead;
  const expire = async (): Promise<never> => {
    const leastBytes = (MIN_BYTES_PER_SECOND * ms) / 1000 / CHECKS;
    let checks = 0;
    do {
      await delay(ms / CHECKS, undefined, { signal: done.signal });
      checks++;
    } while (
      checks < CHECKS &&
      socket.bytesRead - before >= checks * leastBytes
    );
    // The answer ends the connection, and with it what was read.
    res.set('Connection', 'close');
    throw new RequestTimeoutError(
      checks < CHECKS
        ? `The file must arrive with at least ${MIN_BYTES_PER_SECOND} bytes a second`
        : `The file did not arrive within ${ms} ms`,
    );
  };
  try {
    return await Promise.race([reading, expire()]);
  } finally {
    done.abort();
  }
}

async function* partsOf(
  pieces: FilePieces,
  maxVersions: number,
): AsyncGenerator<ImportedPart> {
  const file = await pieces.next('it');
  const { mockups } = parseInput(fileSchema, file, 'file');
  let count = 0;
  for (const index of mockups.keys()) {
    const path = ['mockups', index];
    const where = `mockups[${index}]`;
    const { versions, ...head } = parseInput(
      versionsSchema,
      await pieces.next(where),
      'file',
      path,
    );
    const mockup = parseInput(mockupFileMockupSchema, head, 'file', path);
    yield { mockup, digest: pieces.digest };
    count += versions.length;
    if (count > maxVersions) {
      throw new InputError(
        `Invalid file: it must have at most ${maxVersions} versions (mockup.import.maxVersions)`,
      );
    }
    for (const place of versions.keys()) {
      const version = await pieces.next(`${where}.versions[${place}]`);
      yield { version: parseVersion(version, index, place) };
    }
  }
}

function parseVersion(given: unknown, index: number, place: number) {
  const path = ['mockups', index, 'versions', place];
  const version = parseInput(mockupFileVersionSchema, given, 'file', path);
  const { restoredFrom } = version;
  if (restoredFrom !== undefined && restoredFrom >= place) {
    throw new InputError(
      `Invalid file: mockups[${index}].versions[${place}].restoredFrom must be the place of an earlier version of the mockup, from 0, got ${restoredFrom}`,
    );
  }
  return version;
}
