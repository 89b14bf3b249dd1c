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

/** The limits of an import. */
export interface ImportBounds {
  maxBytes: number;
  /** The most versions of all mockups together. */
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

/**
 * Creates a reader of exported mockups. It reads and validates the whole body before it yields
 * the first part, so that no part waits for the client.
 *
 * @returns a function that throws `InputError` with the path in the document and the expected
 * form, or an error with status 413 or 415
 */
export function createMockupFileReader({
  maxBytes,
  maxVersions,
}: ImportBounds): MockupFileReader {
  const readBody = createBodyReader({ limit: maxBytes });
  return async function* read(req, res) {
    const parts = await partsOf(await readBody(req, res), maxVersions);
    for (const part of parts) {
      // Throwing rolls the import back.
      if (req.socket.destroyed) {
        throw new InputError(
          'The client disconnected before the end of the import',
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
    // Yields to other requests, because a file may take long.
    await nextTurn();
    for (const [place, version] of versions.entries()) {
      parts.push({ version: parseVersion(version, index, place) });
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
