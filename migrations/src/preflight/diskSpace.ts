import { readFile, stat, statfs } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { PreflightContext } from './PreflightCheck';

/** Room that is needed in a folder. */
export interface DiskNeed {
  /** Absolute, or within the data directory of the server. */
  location: string;
  bytes: number;
}

/** What is needed and what is free on one file system. */
export interface DiskRoom {
  needed: number;
  free: number;
  where: string;
}

/** The server's disk can't be seen from here; the message says why. */
export class UnknownServerError extends Error {}

/**
 * What is free where something is needed, by file system.
 *
 * @throws {@link UnknownServerError} unless the server runs on this very machine and
 * its data directory can be read
 */
export async function measureNeeds(
  context: PreflightContext,
  needs: DiskNeed[],
): Promise<DiskRoom[]> {
  const dataDirectory = await findDataDirectory(context);
  const rooms = new Map<number, DiskRoom>();
  for (const { location, bytes } of needs) {
    const folder = resolve(dataDirectory, location);
    const { device, free } = await measure(folder);
    const room = rooms.get(device) ?? { needed: 0, free, where: folder };
    rooms.set(device, { ...room, needed: room.needed + bytes });
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

async function findDataDirectory({
  executor,
}: PreflightContext): Promise<string> {
  const [server] = await executor.read<{
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
