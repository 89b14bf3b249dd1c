import type { LoadTenant } from '../LoadTenant';

/** A request, and what its answer must be. */
export interface Exchange {
  /** The kind of request, by which times are told. */
  what: string;
  /** Whose request it is, and of whom alone the answer may tell. */
  tenant: LoadTenant;
  method: 'GET' | 'POST';
  path: string;
  body?: object;
  /** The answer is long, and looked at in pieces, for other tenants alone. */
  long?: boolean;
  /** The status of the right answer; 200 where nothing is said. */
  status?: number;
  /**
   * Looks at the body of an answer, which is known to tell of no other tenant.
   *
   * @throws Error that says what is wrong with it
   */
  check(answer: string): void;
}

/** One of several requests in turn, made once the one before is answered. */
export type Step = () => Exchange;

/** What a client does, which may take several requests. */
export interface Task {
  /** How often it is done, compared with others. */
  weight: number;
  /** Made anew each time. */
  start(tenant: LoadTenant, random: Random): Step[];
}

/** A number from 0 up to, and without, this one. */
export type Random = (end: number) => number;

/** Numbers that are the same in each run. */
export function createRandom(seed: number): Random {
  let state = seed;
  return end => {
    // mulberry32
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * end);
  };
}

/** One of the tasks, each as often as its weight says. */
export function pickTask(tasks: Task[], random: Random): Task {
  let rest = random(tasks.reduce((sum, { weight }) => sum + weight, 0));
  return tasks.find(({ weight }) => (rest -= weight) < 0)!;
}
