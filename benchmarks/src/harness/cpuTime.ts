import { readdirSync, readFileSync } from 'node:fs';
import type { FigureTable } from './Benchmark';
import { type Contestant, spreadOf } from './comparison';

/** Microseconds on a processor for each request of a round. */
interface Round {
  backend: number;
  postgres: number;
}

/**
 * What requests take of the processors, in the backend and in PostgreSQL. It changes less
 * than requests per second with what else runs on the machine.
 */
export class CpuRecorder {
  readonly #postgres: number;
  readonly #of: string;
  readonly #rows: Array<{ what: string; name: string; rounds: Round[] }> = [];

  /**
   * @param options.postgres - the id of the server's first process
   * @param options.of - what is counted; requests by default
   */
  constructor(options: { postgres: number; of?: string }) {
    this.#postgres = options.postgres;
    this.#of = options.of ?? 'a request';
  }

  /** The same contestant; after the first measurement, which is the warm-up, it is recorded. */
  recorded(what: string, contestant: Contestant, backend: number): Contestant {
    const row = { what, name: contestant.name, rounds: new Array<Round>() };
    this.#rows.push(row);
    let isWarm = false;
    return {
      name: contestant.name,
      measure: async seconds => {
        const before = this.#read(backend);
        const measurement = await contestant.measure(seconds);
        const after = this.#read(backend);
        if (isWarm && before && after) {
          row.rounds.push({
            backend: (after.backend - before.backend) / measurement.count,
            postgres:
              growthOf(before.postgres, after.postgres) / measurement.count,
          });
        }
        isWarm = true;
        return measurement;
      },
    };
  }

  /** Nothing where the system does not tell. */
  get figures(): FigureTable[] {
    const rows = this.#rows.filter(({ rounds }) => rounds.length > 0);
    return rows.length === 0
      ? []
      : [
          {
            title: `Microseconds of processor time for ${
              this.#of
            }: median (smallest–largest)`,
            head: ['what', 'side', 'backend', 'PostgreSQL', 'sum'],
            rows: rows.map(({ what, name, rounds }) => [
              what,
              name,
              cell(rounds.map(({ backend }) => backend)),
              cell(rounds.map(({ postgres }) => postgres)),
              cell(rounds.map(({ backend, postgres }) => backend + postgres)),
            ]),
          },
        ];
  }

  #read(pid: number) {
    const backend = cpuTimeOf([pid]);
    return backend === undefined
      ? undefined
      : {
          backend,
          postgres: timesOfChildren(this.#postgres),
        };
  }
}

/**
 * The shares of a processor that processes take while something happens, in per cent.
 *
 * @param pids - the processes of Node.js
 * @param postgres - the id of PostgreSQL's first process
 * @returns nothing where the system does not tell
 */
export async function cpuSharesOf(
  pids: number[],
  postgres: number,
  during: () => Promise<unknown>,
): Promise<{ node: number; postgres: number } | undefined> {
  const start = performance.now();
  const node = cpuTimeOf(pids);
  const sessions = timesOfChildren(postgres);
  await during();
  const nodeAfter = cpuTimeOf(pids);
  const sessionsAfter = timesOfChildren(postgres);
  const microseconds = (performance.now() - start) * 1e3;
  return node === undefined || nodeAfter === undefined
    ? undefined
    : {
        node: ((nodeAfter - node) / microseconds) * 100,
        postgres: (growthOf(sessions, sessionsAfter) / microseconds) * 100,
      };
}

function timesOfChildren(pid: number): Map<number, number> {
  return new Map(
    childrenOf(pid).map(child => [child, cpuTimeOf([child]) ?? 0]),
  );
}

/** Of the processes that are still there: those that have ended tell nothing. */
function growthOf(
  before: Map<number, number>,
  after: Map<number, number>,
): number {
  return [...after].reduce(
    (sum, [pid, time]) => sum + time - (before.get(pid) ?? 0),
    0,
  );
}

function cell(values: number[]): string {
  const { median, min, max } = spreadOf(values);
  const [a, b, c] = [median, min, max].map(value => value.toFixed(0));
  return `${a} (${b}–${c})`;
}

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
