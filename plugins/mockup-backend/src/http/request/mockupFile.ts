import { InputError } from '@backstage/errors';
import { createBodyReader } from '@internal/http';
import {
  MOCKUP_FILE,
  MOCKUP_LIMITS,
  mockupFileMockupSchema,
  mockupFileVersionSchema,
  parseInput,
} from 'backstage-plugin-mockup-common';
import type { ImportedPart } from 'backstage-plugin-mockup-node';
import type { Request, Response } from 'express';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';

/** How large an import may be. */
export interface ImportBounds {
  maxBytes: number;
  /** Of all mockups of the file. */
  maxVersions: number;
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

// Without any, a mockup has an empty list: a file that was cut and mended shows.
const versionsSchema = z.looseObject(
  { versions: z.array(z.unknown(), { error: 'a list of versions' }) },
  { error: 'a mockup' },
);

/** What reads a file of exported mockups from the body of a request. */
export type MockupFileReader = (
  req: Request,
  res: Response,
) => AsyncGenerator<ImportedPart>;

/**
 * Makes what reads a file of exported mockups. All of it is read and checked before the first part
 * comes, so that no part waits for the caller.
 *
 * @returns a function that throws `InputError` with the path in the document and the form that was
 * expected, or an error with status 413 or 415
 */
export function createMockupFileReader({
  maxBytes,
  maxVersions,
}: ImportBounds): MockupFileReader {
  const readBody = createBodyReader({ limit: maxBytes });
  return async function* read(req, res) {
    const parts = await partsOf(await readBody(req, res), maxVersions);
    for (const part of parts) {
      // What is not committed is taken back.
      if (req.socket.destroyed) {
        throw new InputError(
          'The caller has left before the end of the import',
        );
      }
      yield part;
    }
  };
}

async function partsOf(
  body: unknown,
  maxVersions: number,
): Promise<ImportedPart[]> {
  const { mockups } = parseInput(fileSchema, body, 'file');
  const parts: ImportedPart[] = [];
  let count = 0;
  for (const [index, given] of mockups.entries()) {
    const path = ['mockups', index];
    const { versions, ...head } = parseInput(
      versionsSchema,
      given,
      'file',
      path,
    );
    parts.push({
      mockup: parseInput(mockupFileMockupSchema, head, 'file', path),
    });
    count += versions.length;
    if (count > maxVersions) {
      throw new InputError(
        `Invalid file: it must have at most ${maxVersions} versions (mockup.import.maxVersions)`,
      );
    }
    for (const [place, version] of versions.entries()) {
      parts.push({ version: parseVersion(version, index, place) });
      // A file takes long: other requests have their turn.
      await nextTurn();
    }
  }
  return parts;
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
