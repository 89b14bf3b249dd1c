import { CustomErrorBase, InputError } from '@backstage/errors';
import {
  MOCKUP_FILE,
  MOCKUP_LIMITS,
  mockupFileMockupSchema,
  mockupFileVersionSchema,
  parseInput,
} from 'backstage-plugin-mockup-common';
import type { ImportedPart } from 'backstage-plugin-mockup-node';
import type { Request } from 'express';
import { createReadStream } from 'node:fs';
import { mkdtemp, open, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const JSON_TYPE = 'application/json';

/** Characters of one version, or of one other value; the first may write all as \uXXXX. */
const MOST_OF_VERSION = 2 * MOCKUP_LIMITS.layoutBytes;
const MOST_OF_VALUE = 64 * 1024;

const SPOOLED = 'mockup-import-';

/** How large an import may be. */
export interface ImportBounds {
  maxBytes: number;
  /** Of all mockups of the file. */
  maxVersions: number;
}

/**
 * Removes the files that imports of processes have left which were killed. Call it before the
 * first import of this process: a process of before may have had its id.
 */
export async function removeLeftFiles(): Promise<void> {
  const folders = await readdir(tmpdir());
  const left = folders.filter(name => {
    const pid = /^mockup-import-(\d+)-/.exec(name)?.[1];
    return pid !== undefined && !isOther(Number(pid));
  });
  for (const name of left) {
    await rm(join(tmpdir(), name), { recursive: true, force: true });
  }
}

/** Whether a process is there, and is not this one. */
function isOther(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return pid !== process.pid;
  } catch (error) {
    // Another user's can't be asked.
    return (error as { code?: string }).code === 'EPERM';
  }
}

const FILE_FIELDS = new Set(['schema', 'version', 'mockups']);

const MOCKUP_FIELDS = new Set([
  'name',
  'description',
  'owner',
  'createdAt',
  'updatedAt',
]);

class FileTooLargeError extends CustomErrorBase {
  name = 'PayloadTooLargeError' as const;
  readonly statusCode = 413;
}

class UnsupportedMediaTypeError extends CustomErrorBase {
  name = 'UnsupportedMediaTypeError' as const;
  readonly statusCode = 415;
}

/** Takes a JSON document apart as it comes in. */
class JsonSource {
  readonly #chunks: AsyncIterator<Uint8Array>;
  readonly #decoder = new TextDecoder('utf-8', { fatal: true });
  #buffer = '';
  #at = 0;
  #ended = false;

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  /** The keys of an object, behind each of which its value has to be read. */
  async *members(place: string): AsyncGenerator<string> {
    await this.#expect('{', `${place} must be an object`);
    if ((await this.#peek()) === '}') {
      this.#at += 1;
      return;
    }
    for (;;) {
      await this.#peek();
      const key = await this.value(`a key of ${place}`, MOST_OF_VALUE);
      if (typeof key !== 'string') {
        throw invalid(`a key of ${place} must be a string`);
      }
      await this.#expect(':', `a key of ${place} must have a value`);
      yield key;
      if (await this.#endsList('}', place)) {
        return;
      }
    }
  }

  /** The indexes of a list, behind each of which its entry has to be read. */
  async *elements(place: string): AsyncGenerator<number> {
    await this.#expect('[', `${place} must be a list`);
    if ((await this.#peek()) === ']') {
      this.#at += 1;
      return;
    }
    for (let index = 0; ; index += 1) {
      yield index;
      if (await this.#endsList(']', place)) {
        return;
      }
    }
  }

  /** Reads a value of at most `most` characters. */
  async value(place: string, most: number): Promise<unknown> {
    await this.#peek();
    let depth = 0;
    let inString = false;
    let length = 0;
    for (;;) {
      if (this.#at + length >= this.#buffer.length && !(await this.#fill())) {
        break;
      }
      if (length > most) {
        throw invalid(`${place} must be at most ${most} characters of JSON`);
      }
      const character = this.#buffer[this.#at + length];
      if (inString) {
        if (character === '\\') {
          length += 1;
        } else if (character === '"') {
          inString = false;
        }
      } else if (character === '"') {
        inString = true;
      } else if (character === '{' || character === '[') {
        depth += 1;
      } else if (character === '}' || character === ']') {
        if (depth === 0) {
          break;
        }
        depth -= 1;
      } else if (depth === 0 && /[,:\s]/.test(character)) {
        break;
      }
      length += 1;
      if (depth === 0 && !inString && /["}\]]/.test(character)) {
        break;
      }
    }
    const text = this.#buffer.slice(this.#at, this.#at + length);
    this.#at += text.length;
    try {
      return JSON.parse(text);
    } catch {
      throw invalid(
        text === ''
          ? `${place} is missing, expected a value`
          : `${place} must be valid JSON, got ${quote(text)}`,
      );
    }
  }

  /** Makes sure that nothing is behind the document. */
  async end(): Promise<void> {
    if ((await this.#peek()) !== '') {
      throw invalid('the file must end behind its object');
    }
  }

  /** Closes where it reads from, wherever it is. */
  async close(): Promise<void> {
    await this.#chunks.return?.();
  }

  async #endsList(end: string, place: string): Promise<boolean> {
    const next = await this.#peek();
    if (next !== ',' && next !== end) {
      throw invalid(
        next === ''
          ? `${place} is cut off, expected , or ${end}`
          : `${place} must go on with , or ${end}, got ${quote(next)}`,
      );
    }
    this.#at += 1;
    return next === end;
  }

  async #expect(character: string, otherwise: string): Promise<void> {
    const next = await this.#peek();
    if (next !== character) {
      throw invalid(
        `${otherwise}, got ${
          next === '' ? 'the end of the file' : quote(next)
        }`,
      );
    }
    this.#at += 1;
  }

  /** The next character that is no white space, '' at the end. */
  async #peek(): Promise<string> {
    for (;;) {
      while (/^[ \t\r\n]$/.test(this.#buffer[this.#at] ?? '')) {
        this.#at += 1;
      }
      if (this.#at < this.#buffer.length) {
        return this.#buffer[this.#at];
      }
      if (!(await this.#fill())) {
        return '';
      }
    }
  }

  /** Reads on, and forgets what was taken; false at the end. */
  async #fill(): Promise<boolean> {
    if (this.#ended) {
      return false;
    }
    const { done, value } = await this.#chunks.next();
    this.#ended = done === true;
    try {
      const text = this.#ended
        ? this.#decoder.decode()
        : this.#decoder.decode(value, { stream: true });
      this.#buffer = this.#buffer.slice(this.#at) + text;
      this.#at = 0;
    } catch {
      throw invalid('the file must be UTF-8');
    }
    return !this.#ended || this.#buffer.length > 0;
  }
}

/**
 * Reads a file of exported mockups from the body of a request. The body goes to a temporary file first, which
 * is read twice: all of it is checked before the first part comes, and no part waits for the caller.
 *
 * @throws InputError that names the path in the document and the form that was expected, or
 * an error with status 413 or 415
 */
export async function* receiveMockupFile(
  req: Request,
  { maxBytes, maxVersions }: ImportBounds,
): AsyncGenerator<ImportedPart> {
  if (!req.is(JSON_TYPE) || req.get('Content-Encoding')) {
    throw new UnsupportedMediaTypeError(
      `The Content-Type must be ${JSON_TYPE}, without a Content-Encoding`,
    );
  }
  const tooLarge = new FileTooLargeError(
    `The file is larger than ${maxBytes} bytes`,
  );
  if (Number(req.get('Content-Length') ?? 0) > maxBytes) {
    throw tooLarge;
  }
  const folder = await mkdtemp(join(tmpdir(), `${SPOOLED}${process.pid}-`));
  try {
    const path = join(folder, 'mockups.json');
    await saveBody(req, path, maxBytes, tooLarge);
    let versions = 0;
    // Reading checks it.
    for await (const part of readMockupFile(createReadStream(path))) {
      versions += 'version' in part ? 1 : 0;
      if (versions > maxVersions) {
        throw invalid(
          `the file must have at most ${maxVersions} versions (mockup.import.maxVersions)`,
        );
      }
    }
    for await (const part of readMockupFile(createReadStream(path))) {
      // What is not committed is taken back.
      if (req.socket.destroyed) {
        throw new InputError(
          'The caller has left before the end of the import',
        );
      }
      yield part;
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function saveBody(
  req: Request,
  path: string,
  maxBytes: number,
  tooLarge: Error,
): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  let bytes = 0;
  try {
    // A destroyed request could not be answered any more.
    for await (const chunk of req.iterator({ destroyOnReturn: false })) {
      bytes += chunk.length;
      if (bytes > maxBytes) {
        throw tooLarge;
      }
      await file.writeFile(chunk);
    }
  } catch (error) {
    throw error !== tooLarge && req.destroyed && !req.complete
      ? new InputError('The request ended before its body')
      : error;
  } finally {
    await file.close();
  }
}

/**
 * Reads the parts of a file of exported mockups, holding no more of it than one version.
 *
 * @throws InputError that names the path in the document and the form that was expected
 */
export async function* readMockupFile(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<ImportedPart> {
  const source = new JsonSource(chunks);
  try {
    yield* readDocument(source);
  } finally {
    await source.close();
  }
}

async function* readDocument(source: JsonSource): AsyncGenerator<ImportedPart> {
  const missing = new Set(FILE_FIELDS);
  for await (const key of source.members('the file')) {
    if (!missing.delete(key)) {
      throw FILE_FIELDS.has(key)
        ? invalid(`${key} must be there once`)
        : unknownField(key, '');
    }
    if (key === 'mockups') {
      for await (const index of source.elements('mockups')) {
        if (index >= MOCKUP_LIMITS.importedMockups) {
          throw invalid(
            `mockups must be at most ${MOCKUP_LIMITS.importedMockups} mockups`,
          );
        }
        yield* readMockup(source, index);
      }
    } else {
      checkHead(key, await source.value(key, MOST_OF_VALUE));
    }
  }
  for (const key of missing) {
    throw invalid(`${key} is missing`);
  }
  await source.end();
}

async function* readMockup(
  source: JsonSource,
  index: number,
): AsyncGenerator<ImportedPart> {
  const place = `mockups[${index}]`;
  const fields = new Map<string, unknown>();
  const toMockup = () =>
    parseInput(mockupFileMockupSchema, Object.fromEntries(fields), 'file', [
      'mockups',
      index,
    ]);
  let hasVersions = false;
  for await (const key of source.members(place)) {
    if (hasVersions) {
      throw invalid(
        `${place}.versions must be the last field of its mockup, got ${quote(
          key,
        )} behind it`,
      );
    }
    if (fields.has(key)) {
      throw invalid(`${place}.${key} must be there once`);
    }
    if (key === 'versions') {
      hasVersions = true;
      yield { mockup: toMockup() };
      for await (const number of source.elements(`${place}.versions`)) {
        const path = ['mockups', index, 'versions', number];
        const at = `${place}.versions[${number}]`;
        const value = await source.value(at, MOST_OF_VERSION);
        const version = parseInput(
          mockupFileVersionSchema,
          value,
          'file',
          path,
        );
        const { restoredFrom } = version;
        if (restoredFrom !== undefined && restoredFrom >= number) {
          throw invalid(
            `${at}.restoredFrom must be the place of an earlier version of the mockup, from 0, got ${restoredFrom}`,
          );
        }
        yield { version };
      }
    } else if (MOCKUP_FIELDS.has(key)) {
      fields.set(key, await source.value(`${place}.${key}`, MOST_OF_VALUE));
    } else {
      throw unknownField(key, ` in ${place}`);
    }
  }
  if (!hasVersions) {
    // Without any, a mockup has an empty list: a file that was cut and mended shows.
    throw invalid(`${place}.versions is missing, expected a list of versions`);
  }
}

function checkHead(key: string, value: unknown): void {
  if (key === 'schema' && value !== MOCKUP_FILE.schema) {
    throw invalid(
      `schema must be ${quote(MOCKUP_FILE.schema)}, got ${quote(value)}`,
    );
  }
  if (key === 'version' && value !== MOCKUP_FILE.version) {
    const isNewer = typeof value === 'number' && value > MOCKUP_FILE.version;
    throw invalid(
      `version must be ${MOCKUP_FILE.version}, got ${quote(value)}${
        isNewer ? ': a newer version of the plugin has made the file' : ''
      }`,
    );
  }
}

function unknownField(key: string, place: string): InputError {
  return invalid(`unknown field ${quote(key)}${place}`);
}

function invalid(problem: string): InputError {
  return new InputError(`Invalid file: ${problem}`);
}

function quote(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
