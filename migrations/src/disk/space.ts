import { readFile, stat, statfs } from 'node:fs/promises';
import { resolve } from 'node:path';
import { formatBytes } from '../text';
import type { DiskNeed, Reader } from './needs';

/** The needed and the free space of one file system. */
export interface DiskRoom {
  needed: number;
  /** Stays free in addition: PostgreSQL crashes when it cannot write its log. */
  reserve: number;
  free: number;
  where: string;
}

const MB = 1024 ** 2;

// A twentieth of the need, within these bounds: more than PostgreSQL writes between two
// measurements.
const RESERVE = 0.05;
const SMALLEST_RESERVE = 64 * MB;
const LARGEST_RESERVE = 1024 * MB;

/** The reserve for a need, in bytes. */
export function reserveOf(needed: number): number {
  return Math.round(
    Math.min(LARGEST_RESERVE, Math.max(SMALLEST_RESERVE, needed * RESERVE)),
  );
}

/** Whether the need would use a part of the reserve. */
export function isShort({ needed, reserve, free }: DiskRoom): boolean {
  return free < needed + reserve;
}

/** A description: `64 MB have to stay free; 1.2 GB are free (/var/lib)`. */
export function describeRoom({ reserve, free, where }: DiskRoom): string {
  return (
    `${formatBytes(reserve)} have to stay free beside that, and ` +
    `${formatBytes(free)} are free (${where})`
  );
}

/** The server's disk can't be seen from here; the message says why. */
export class UnknownServerError extends Error {}

/**
 * Measures the free space for needs, by file system.
 *
 * @throws {@link UnknownServerError} unless the server runs on this very machine and
 * its data directory can be read
 */
export async function measureNeeds(
  reader: Reader,
  needs: Pick<DiskNeed, 'location' | 'bytes'>[],
): Promise<DiskRoom[]> {
  const dataDirectory = await findDataDirectory(reader);
  return measureRooms(dataDirectory, needs);
}

/** The same, where the data directory of the server is known. */
export async function measureRooms(
  dataDirectory: string,
  needs: Pick<DiskNeed, 'location' | 'bytes'>[],
): Promise<DiskRoom[]> {
  const rooms = new Map<number, DiskRoom>();
  for (const { location, bytes } of needs) {
    const folder = resolve(dataDirectory, location);
    const { device, free } = await measure(folder);
    const { needed = 0, where = folder } = rooms.get(device) ?? {};
    rooms.set(device, {
      needed: needed + bytes,
      reserve: reserveOf(needed + bytes),
      free,
      where,
    });
  }
  return [...rooms.values()];
}

async function measure(
  folder: string,
): Promise<{ device: number; free: number }> {
  try {
    const { dev } = await stat(folder);
    const { bavail, bsize } = await statfs(folder);
    return { device: dev, free: bavail * bsize };
  } catch {
    throw new UnknownServerError(`${folder} cannot be read from here`);
  }
}

/**
 * The data directory of the server, if it is one of this machine.
 *
 * @throws {@link UnknownServerError} otherwise
 */
export async function findDataDirectory(reader: Reader): Promise<string> {
  const [server] = await reader.read<{
    directory: string | null;
    port: string;
    started: number;
  }>(
    `select (select setting from pg_settings where name = 'data_directory') as directory,
            current_setting('port') as port,
            floor(extract(epoch from pg_postmaster_start_time()))::int as started`,
  );
  const { directory, port, started } = server;
  if (directory === null) {
    throw new UnknownServerError(
      'the login may not see where the server keeps its data',
    );
  }
  // A folder of that name here may be another server's. The file names the port
  // and the second in which the server that uses the folder was started.
  const [, , fileStarted, filePort] = await readLines(
    resolve(directory, 'postmaster.pid'),
  );
  const apart = Math.abs(Number(fileStarted) - started);
  if (filePort?.trim() !== port || !(apart <= 2)) {
    throw new UnknownServerError(
      'the server runs on another machine than this command',
    );
  }
  return directory;
}

async function readLines(file: string): Promise<string[]> {
  try {
    return (await readFile(file, 'utf8')).split('\n');
  } catch {
    throw new UnknownServerError(
      'the data directory of the server cannot be read from here',
    );
  }
}
