import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { APP_LOGIN, PASSWORD } from '../harness/backend';
import type {
  BenchmarkContext,
  BenchmarkResult,
  FigureTable,
} from '../harness/Benchmark';
import { type Database, runStatements } from '../harness/database';
import { percentileOf } from '../harness/load';
import { verdictOf } from '../harness/report';
import type { Size } from './catalog';
import { type Command, operate } from './operate';
import { REPORT_LOCK_WAITS, REPORTED_FROM_MS, Writers } from './Writers';

const SWAP_TARGET_MS = 50;

/** The migration of one database, and what it did to the writers. */
class Course {
  /** How long each swap and each of its rollbacks blocked a write at most, in milliseconds. */
  readonly longest: number[] = [];
  /** Of each command, by its name. */
  readonly seconds = new Map<string, number>();

  constructor(
    private readonly context: BenchmarkContext,
    private readonly database: Database,
    private readonly writers: Writers,
  ) {}

  async follow({ baselineSeconds, swaps }: Size): Promise<void> {
    const { database, writers } = this;
    await pause(baselineSeconds * 1000);
    await this.#run('phase 1', { phase: 1 });
    await this.#run('phase 2', { phase: 2 });
    await this.#run('phase 3', { phase: 3 });
    await runStatements(database, [
      `alter role ${APP_LOGIN} password '${PASSWORD}'`,
      ...REPORT_LOCK_WAITS.map(each => `alter role ${APP_LOGIN} set ${each}`),
    ]);
    writers.deploy('new');
    await this.#run('phase 4', { phase: 4 });
    await this.#swap('phase 5', { phase: 5 });
    for (let count = 0; count < swaps; count += 1) {
      await this.#swap('rollback of the swap, all of the command', {});
      await this.#swap('swap again, all of the command', { phase: 5 });
    }
    await this.#run('rollback to phase 3', { rollbackTo: 3 });
    writers.deploy('old');
    await this.#run('rollback to before phase 1', { rollbackTo: 0 });
  }

  async #run(
    name: string,
    command: Command,
    onReplayed?: () => void,
  ): Promise<void> {
    this.context.progress(`${name}, with writers`);
    this.writers.begin(name);
    const start = performance.now();
    await operate(this.database, command, onReplayed);
    this.seconds.set(name, (performance.now() - start) / 1000);
  }

  /** Finds the longest lock wait from the moment on at which a command asks for the locks. */
  async #swap(name: string, command: Command): Promise<void> {
    await this.#run(name, command, () => this.writers.forgetLockWaits());
    const wait = this.writers.longestLockWait;
    this.context.progress(`${name}: ${blocked(wait)}`);
    this.longest.push(wait);
  }
}

/**
 * Migrates a database and takes it back again, while four connections write to it without a
 * pause: as the old application up to phase 3, then as the new one.
 */
export async function migrateLive(
  context: BenchmarkContext,
  database: Database,
  size: Size,
): Promise<Required<Pick<BenchmarkResult, 'figures' | 'notes' | 'failures'>>> {
  const writers = await Writers.start(database, 'before phase 1');
  const lateness = monitorEventLoopDelay({ resolution: 1 });
  lateness.enable();
  try {
    const course = new Course(context, database, writers);
    await course.follow(size);
    lateness.disable();
    const { longest, seconds } = course;
    const p99 = nearestRank(longest, 0.99);
    const isMet = p99 <= SWAP_TARGET_MS && writers.failed === 0;
    return {
      figures: [waitTable(writers, seconds)],
      notes: [
        `${longest.length} swaps and rollbacks: ${longest
          .map(blocked)
          .join(', ')}; p99 ${ms(p99)} ms, ` +
          `target ≤ ${SWAP_TARGET_MS} ms: ${verdictOf(isMet)}`,
        `This process itself was late by at most ${ms(
          lateness.max / 1e6,
        )} ms: ` + 'a write can seem to wait that much longer than it did',
      ],
      failures:
        writers.failed > 0
          ? [`${writers.failed} writes failed`, ...writers.failures]
          : [],
    };
  } finally {
    await writers.stop();
  }
}

function waitTable(
  { stages }: Writers,
  seconds: Map<string, number>,
): FigureTable {
  return {
    title: 'Milliseconds that a write waited while something went on',
    head: ['what', 'took s', 'writes', 'p50', 'p99', 'longest', 'failed'],
    rows: stages.map(({ name, waits, failed }) => [
      name,
      seconds.get(name)?.toFixed(1) ?? '',
      waits.count,
      ...[50, 99, 100].map(share => ms(percentileOf(waits, share))),
      failed,
    ]),
  };
}

/** The value that a share of the values does not exceed: one that was measured. */
function nearestRank(values: number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)];
}

function blocked(wait: number): string {
  return wait > 0
    ? `a write was blocked for ${ms(wait)} ms`
    : `none for ${REPORTED_FROM_MS} ms`;
}

function ms(value: number): string {
  return value.toFixed(1);
}
