import { createHash, type Hash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import { finished, pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { UUID } from '../adopt/engine';
import { RefusedError, UsageError } from '../errors';

// The file of an export: JSON lines in gzip. docs/operators/tenants.md has the format.

export const FORMAT = 'backstage-tenant';
export const FORMAT_VERSION = 1;

/** The first line. */
export interface Header {
  format: typeof FORMAT;
  version: number;
  /** When, in ISO 8601. */
  exported: string;
  postgresql: string;
  tenant: { id: string; slug: string };
  /** By schema of an engine or instance, the migrations that made its tables. */
  migrations: Record<string, string[]>;
  sections: Section[];
}

/** The rows of one table, which follow the header in the order of the sections. */
export interface Section {
  /** `registry`, `mockups`, `engine`, or `plugin <id>`. */
  part: string;
  table: string;
  /** In alphabetical order, as in the rows. */
  columns: string[];
  rows: number;
}

/** The last line. */
export interface Footer {
  /** SHA-256 of all bytes before this line, not compressed. */
  sha256: string;
}

/** About so many characters of rows are in memory at a time, or one row. */
export const BATCH_LENGTH = 4_000_000;

/** Writes beside the file, which is there when all of it is; each of two that write it at once, by itself. */
export class ArchiveWriter {
  readonly #gzip = createGzip();
  readonly #sha256: Hash = createHash('sha256');
  readonly #partial: string;
  readonly #written: Promise<void>;

  constructor(private readonly file: string) {
    this.#partial = `${file}.${randomUUID()}.partial`;
    // Others may not read what a tenant has.
    this.#written = pipeline(
      this.#gzip,
      createWriteStream(this.#partial, { mode: 0o600, flush: true }),
    );
    this.#written.catch(() => undefined);
  }

  async write(lines: string[]): Promise<void> {
    if (this.#gzip.destroyed) {
      await this.#written;
    }
    const text = lines.map(line => `${line}\n`).join('');
    this.#sha256.update(text);
    if (text !== '' && !this.#gzip.write(text)) {
      await Promise.race([once(this.#gzip, 'drain'), this.#written]);
    }
  }

  async finish(): Promise<void> {
    const footer: Footer = { sha256: this.#sha256.digest('hex') };
    this.#gzip.end(`${JSON.stringify(footer)}\n`);
    await this.#written;
    await rename(this.#partial, this.file);
  }

  /** @returns the error in words, if it is one of the file */
  async giveUp(error: unknown): Promise<unknown> {
    this.#gzip.destroy();
    await this.#written.catch(() => undefined);
    await rm(this.#partial, { force: true });
    return explainWrite(this.file, error);
  }
}

/**
 * @throws {@link UsageError} for a folder, in whose place no file comes, and for a device or a pipe,
 *   which is not read twice
 */
export async function requireFile(
  path: string,
  use: 'read' | 'written',
): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found && !found.isFile()) {
    throw new UsageError(`${path} can't be ${use}: it is not a file.`);
  }
}

/** Explains an error of the file system, and leaves others as they are. */
export function explainWrite(path: string, error: unknown): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new RefusedError(
      `The disk with ${path} is full. Make room on it, and run the same command again.`,
    );
  }
  return syscall ? new UsageError(`${path} can't be written: ${code}.`) : error;
}

/**
 * Reads a file from its first line to its last, and compares it with its checksum.
 *
 * @param onRows - gets the rows in batches of one section
 * @throws {@link RefusedError} for a file of another form, one that is cut off, and one whose
 *   bytes have changed
 */
export async function readArchive(
  file: string,
  batchSize: number,
  onRows: (section: Section, rows: string[], header: Header) => Promise<void>,
): Promise<{ header: Header; footer: Footer }> {
  const unzipped = createGunzip();
  const reading = pipeline(createReadStream(file), unzipped);
  reading.catch(() => undefined);
  const sha256 = createHash('sha256');
  let header: Header | undefined;
  let footer: Footer | undefined;
  let section = -1;
  let left = 0;
  let rows: string[] = [];
  let length = 0;
  const flush = async () => {
    if (rows.length > 0) {
      const batch = rows;
      rows = [];
      length = 0;
      await onRows(header!.sections[section], batch, header!);
    }
  };
  const nextSection = async () => {
    while (left === 0 && section < header!.sections.length) {
      await flush();
      section += 1;
      left = header!.sections[section]?.rows ?? 0;
    }
  };
  try {
    for await (const line of linesOf(unzipped)) {
      if (!header) {
        header = parseHeader(file, line);
        await nextSection();
      } else if (section < header.sections.length) {
        rows.push(line);
        length += line.length;
        left -= 1;
        if (rows.length >= batchSize || length >= BATCH_LENGTH) {
          await flush();
        }
        await nextSection();
      } else if (footer) {
        throw damaged(file, 'it goes on after its last line');
      } else {
        footer = parseFooter(file, line);
        // Up to the end of the stream: to leave it earlier would be an error of it.
        continue;
      }
      sha256.update(`${line}\n`);
    }
    await reading;
  } catch (error) {
    throw explain(file, error as NodeJS.ErrnoException);
  } finally {
    unzipped.destroy();
    await finished(unzipped).catch(() => undefined);
  }
  if (!header || !footer) {
    throw damaged(file, 'its end is missing');
  }
  if (footer.sha256 !== sha256.digest('hex')) {
    throw damaged(file, 'its bytes are not those of its checksum');
  }
  return { header, footer };
}

/** Node's readline takes U+2028 for an end too, which texts may have. */
async function* linesOf(stream: NodeJS.ReadableStream): AsyncGenerator<string> {
  stream.setEncoding('utf8');
  let begun = '';
  for await (const chunk of stream) {
    const lines = String(chunk).split('\n');
    lines[0] = begun + lines[0];
    begun = lines.pop()!;
    yield* lines;
  }
}

function parseHeader(file: string, line: string): Header {
  const header = parse(line) as Partial<Header> | undefined;
  if (header?.format !== FORMAT) {
    throw new RefusedError(
      `${file} is not an export of a tenant. Give a file that "tenant export" has written.`,
    );
  }
  if (header.version !== FORMAT_VERSION) {
    throw new RefusedError(
      `${file} has version ${header.version} of the format, and this command reads version ${FORMAT_VERSION}. Use the version that wrote it.`,
    );
  }
  if (!isWhole(header)) {
    throw damaged(file, 'its first line does not say what it has');
  }
  return header;
}

/** An export may come from anybody: the ids and names of it become those of schemas and tables. */
function isWhole(header: Partial<Header>): header is Header {
  const { tenant, migrations, sections } = header;
  return (
    // In lower case, as the ids that it is compared with.
    UUID.test(tenant?.id ?? '') &&
    tenant?.id === tenant?.id.toLowerCase() &&
    typeof tenant?.slug === 'string' &&
    Object.values(migrations ?? [null]).every(isListOfTexts) &&
    Array.isArray(sections) &&
    sections.every(
      section =>
        isListOfTexts([section?.part, section?.table]) &&
        isListOfTexts(section.columns) &&
        Number.isInteger(section.rows) &&
        section.rows >= 0,
    )
  );
}

function isListOfTexts(list: unknown): boolean {
  return Array.isArray(list) && list.every(each => typeof each === 'string');
}

function parseFooter(file: string, line: string): Footer {
  const footer = parse(line) as Partial<Footer> | undefined;
  if (typeof footer?.sha256 !== 'string') {
    throw damaged(file, 'it has other rows than its first line says');
  }
  return footer as Footer;
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function explain(file: string, error: NodeJS.ErrnoException): Error {
  const { code = '', message, syscall } = error;
  if (code.startsWith('Z_') || code === 'ERR_STREAM_PREMATURE_CLOSE') {
    return damaged(file, message);
  }
  return syscall ? new UsageError(`${file} can't be read: ${code}.`) : error;
}

function damaged(file: string, reason: string): RefusedError {
  return new RefusedError(
    `${file} is damaged: ${reason}. Copy it again, or use another export.`,
  );
}
