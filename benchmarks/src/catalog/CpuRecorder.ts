import type { FigureTable } from '../harness/Benchmark';
import { childrenOf, cpuTimeOf } from '../harness/cpuTime';
import type { Contestant } from '../harness/rounds';
import { spreadOf } from '../harness/statistics';

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
  readonly #rows: Array<{ what: string; name: string; rounds: Round[] }> = [];

  /** @param options.postgres - the id of the server's first process */
  constructor(options: { postgres: number }) {
    this.#postgres = options.postgres;
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
            title:
              'Microseconds of processor time for a request: median (smallest–largest)',
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
          postgres: new Map(
            childrenOf(this.#postgres).map(child => [
              child,
              cpuTimeOf([child]) ?? 0,
            ]),
          ),
        };
  }
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
