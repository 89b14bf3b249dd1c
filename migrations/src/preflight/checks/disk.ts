import { readFile, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { formatBytes } from '../../text';
import { failure, ok } from '../PreflightCheck';
import type {
  Outcome,
  PreflightCheck,
  PreflightContext,
} from '../PreflightCheck';

/** What the phases write until the cleanup, by the size of what they copy. */
const NEEDED_PER_COPIED = 2.5;

/** The size of what is copied, beside the free space where that can be known. */
export const freeDisk: PreflightCheck = {
  name: 'free disk',
  scope: 'tables',
  async run(context) {
    const { executor, facts } = context;
    if (facts.begunPhase >= 5) {
      return [ok('Not looked at: phase 5 has begun to copy the tables.')];
    }
    const [{ bytes }] = await executor.read<{ bytes: number }>(
      `select sum(pg_total_relation_size(oid))::float8 as bytes
         from pg_class where oid = any ($1)`,
      [facts.tables.map(({ oid }) => oid)],
    );
    return [judgeRoom(bytes * NEEDED_PER_COPIED, await measureFree(context))];
  },
};

/** @param free - undefined if it is not known */
export function judgeRoom(needed: number, free: number | undefined): Outcome {
  const need = `The migration needs about ${formatBytes(needed)}`;
  if (free === undefined) {
    return ok(`${need}; the free disk can only be seen on the server.`);
  }
  const figures = `${need}, and ${formatBytes(free)} are free.`;
  return free < needed
    ? failure(figures, {
        advice: 'Give the server more disk, or make room on it.',
      })
    : ok(figures);
}

/** The free space at the data directory, if the server runs on this machine. */
async function measureFree({
  executor,
}: PreflightContext): Promise<number | undefined> {
  const [{ directory, port, started }] = await executor.read<{
    directory: string | null;
    port: string;
    started: number;
  }>(
    `select (select setting from pg_settings where name = 'data_directory') as directory,
            current_setting('port') as port,
            floor(extract(epoch from pg_postmaster_start_time()))::int as started`,
  );
  if (directory === null) {
    return undefined;
  }
  try {
    // Another server may keep its data in a folder of that name here. The file has the
    // port, and the second in which the server of the folder was started.
    const file = await readFile(join(directory, 'postmaster.pid'), 'utf8');
    const [, , fileStarted, filePort] = file.split('\n');
    const isSame =
      filePort?.trim() === port && Math.abs(Number(fileStarted) - started) <= 2;
    const { bavail, bsize } = await statfs(directory);
    return isSame ? bavail * bsize : undefined;
  } catch {
    return undefined;
  }
}
