import { readFileSync } from 'node:fs';

/**
 * What a process shares with no other, in KiB. The resident memory of a session of
 * PostgreSQL counts each page of the shared buffers that it has touched.
 *
 * @returns nothing where the system does not tell: only Linux does
 */
export function privateMemoryOf(pid: number): number | undefined {
  return sumOf(pid, 'Private_');
}

/**
 * The resident memory of a process, in KiB.
 *
 * @returns nothing where the system does not tell: only Linux does
 */
export function residentMemoryOf(pid: number): number | undefined {
  return sumOf(pid, 'Rss:');
}

function sumOf(pid: number, prefix: string): number | undefined {
  try {
    return readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
      .split('\n')
      .filter(line => line.startsWith(prefix))
      .reduce((sum, line) => sum + Number(/\d+/.exec(line)?.[0] ?? 0), 0);
  } catch {
    // Sessions end at any time, and other systems have no such file.
    return undefined;
  }
}
