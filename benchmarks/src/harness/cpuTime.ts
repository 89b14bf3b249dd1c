import { readdirSync, readFileSync } from 'node:fs';

const NANOSECONDS_PER_US = 1e3;

/**
 * The time that processes have had on a processor so far, in microseconds. Unlike time
 * by the clock, it does not grow while somebody else has the processor.
 *
 * @returns nothing where the system does not tell: only Linux does
 */
export function cpuTimeOf(pids: number[]): number | undefined {
  const times = pids.flatMap(pid => threadsOf(pid).map(timeOf));
  return times.length > 0 && times.every(time => time !== undefined)
    ? times.reduce((sum, time) => sum + time, 0)
    : undefined;
}

/** The processes that one has started, such as those of PostgreSQL for connections. */
export function childrenOf(parent: number): number[] {
  return read('/proc', readNames, [])
    .filter(name => /^\d+$/.test(name))
    .map(Number)
    .filter(pid => parentOf(pid) === parent);
}

function parentOf(pid: number): number | undefined {
  const stat = read(`/proc/${pid}/stat`, readText, '');
  // Its second field is a name in parentheses, which may hold anything.
  const [, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return parent === undefined ? undefined : Number(parent);
}

function threadsOf(pid: number): string[] {
  const folder = `/proc/${pid}/task`;
  return read(folder, readNames, []).map(
    thread => `${folder}/${thread}/schedstat`,
  );
}

function timeOf(file: string): number | undefined {
  const [nanoseconds] = read(file, readText, '').split(' ');
  return nanoseconds ? Number(nanoseconds) / NANOSECONDS_PER_US : undefined;
}

function readNames(folder: string): string[] {
  return readdirSync(folder);
}

function readText(file: string): string {
  return readFileSync(file, 'utf8');
}

/** Processes and threads end at any time, and other systems have no such files. */
function read<T>(path: string, reader: (path: string) => T, otherwise: T): T {
  try {
    return reader(path);
  } catch {
    return otherwise;
  }
}
