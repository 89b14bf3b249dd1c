import { CustomErrorBase, InputError } from '@backstage/errors';
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
import {
  setImmediate as nextTurn,
  setTimeout as delay,
} from 'node:timers/promises';
import { z } from 'zod';

/** How long the file of an import may take to arrive. */
const READ_MS = 60_000;

/** How much of a text is looked through in one turn of the event loop. */
const CHARACTERS_PER_TURN = 256 * 1024;

/** Of the braces of an element: those of its object and of the list are around it. */
const ELEMENT_DEPTH = 3;

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
    const body = await withDeadline(readBody(req, res), readMs, res);
    for await (const part of partsOf(body as string | undefined, maxVersions)) {
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

async function withDeadline<T>(
  reading: Promise<T>,
  ms: number,
  res: Response,
): Promise<T> {
  const done = new AbortController();
  const expire = async (): Promise<never> => {
    await delay(ms, undefined, { signal: done.signal });
    // The answer ends the connection, and with it what was read.
    res.set('Connection', 'close');
    throw new RequestTimeoutError(`The file did not arrive within ${ms} ms`);
  };
  try {
    return await Promise.race([reading, expire()]);
  } finally {
    done.abort();
  }
}

async function* partsOf(
  text: string | undefined,
  maxVersions: number,
): AsyncGenerator<ImportedPart> {
  const file = await parseOuter(text ?? 'null', 'it');
  const { mockups } = parseInput(fileSchema, file.value, 'file');
  let count = 0;
  for (const [index, given] of mockups.entries()) {
    const path = ['mockups', index];
    const where = `mockups[${index}]`;
    const mockup = await parseOuter(elementOf(file, given), where);
    const { versions, ...head } = parseInput(
      versionsSchema,
      mockup.value,
      'file',
      path,
    );
    yield { mockup: parseInput(mockupFileMockupSchema, head, 'file', path) };
    count += versions.length;
    if (count > maxVersions) {
      throw new InputError(
        `Invalid file: it must have at most ${maxVersions} versions (mockup.import.maxVersions)`,
      );
    }
    for (const [place, version] of versions.entries()) {
      const value = parsePiece(
        elementOf(mockup, version),
        `${where}.versions[${place}]`,
      );
      yield { version: parseVersion(value, index, place) };
      // Yields to other requests, because a file may take long.
      await nextTurn();
    }
  }
}

/** An object, with `[n]` in its lists for the nth of their elements, each a JSON text. */
interface Outer {
  value: unknown;
  elements: string[];
}

/**
 * Parses an object without the elements of its lists, so that no file holds the thread for long.
 * Wherever it cuts, the text is JSON if and only if all of the pieces are.
 */
async function parseOuter(text: string, where: string): Promise<Outer> {
  const elements: string[] = [];
  let outer = '';
  let depth = 0;
  let isText = false;
  let start = 0;
  let end = 0;
  for (let at = 0, turn = 0; at < text.length; at++) {
    if (at >= turn) {
      turn = at + CHARACTERS_PER_TURN;
      await nextTurn();
    }
    const character = text[at];
    if (character === '\\') {
      at++;
    } else if (character === '"') {
      isText = !isText;
    } else if (!isText && (character === '{' || character === '[')) {
      if (++depth === ELEMENT_DEPTH) {
        start = at;
      }
    } else if (!isText && (character === '}' || character === ']')) {
      if (depth-- === ELEMENT_DEPTH) {
        outer += `${text.slice(end, start)}[${elements.length}]`;
        assertSize(outer, where);
        end = at + 1;
        elements.push(text.slice(start, end));
      }
    }
  }
  if (depth !== 0) {
    throw new InputError(`Invalid file: ${where} ends in the middle`);
  }
  return { value: parsePiece(outer + text.slice(end), where), elements };
}

function elementOf({ elements }: Outer, given: unknown): string {
  return Array.isArray(given) ? elements[given[0]] : JSON.stringify(given);
}

/** No layout that is stored is larger, nor what is around as many elements as there may be. */
function assertSize(text: string, where: string): void {
  if (text.length > MOCKUP_LIMITS.layoutBytes) {
    throw new InputError(
      `Invalid file: ${where} is larger than ${MOCKUP_LIMITS.layoutBytes} characters`,
    );
  }
}

function parsePiece(text: string, where: string): unknown {
  assertSize(text, where);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new InputError(
      `Invalid file: ${where} is not valid JSON: ${(error as Error).message}`,
    );
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
