import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import type { BenchmarkContext, BenchmarkResult } from '../harness/Benchmark';
import { type Database, runStatements } from '../harness/database';
import { APP_ROLE, type LiveTraffic, silentReporter } from '../harness/engine';
import {
  goBack,
  runPhase,
  StepClock,
  type StepTime,
} from '../harness/migrations';
import { judge, waitsOfEach } from '../harness/waits';
import { PASSWORD } from '../harness/servers';
import type { Size } from './catalog';
import { type Longest, WriteLog } from './WriteLog';
import { newApplication, oldApplication, startWriters } from './writers';

/** What the specification expects, by what it is about (B, Migration phases). */
const expectations: Record<string, string> = {
  'phase 1': 'about 5–10 min, no downtime',
  'phase 2': 'about 10–30 min, no downtime',
  'phase 3': 'about 1–2 h with the deployment, no downtime',
  'phase 4': 'about 5 min, no downtime',
  'phase 5': '30–60 min',
  swap: '5–10 min of downtime',
  rollback: 'a maintenance window of 10–15 min',
};

const SWAP_TARGET_MS = 50;

/** What the migration of one database went through. */
interface Course {
  /** Seconds of each command, by its name. */
  seconds: Map<string, number>;
  /** The steps of phase 5. */
  steps: StepTime[];
  back: SwapResult[];
  forth: SwapResult[];
}

/**
 * Migrates a database and takes it back again, while four connections write to it
 * without a pause: as the old application up to phase 3, then as the new one.
 */
export async function migrateLive(
  context: BenchmarkContext,
  database: Database,
  size: Size,
): Promise<
  Required<Pick<BenchmarkResult, 'waits' | 'durations' | 'notes' | 'failures'>>
> {
  const log = new WriteLog();
  log.begin('before phase 1');
  const writers = await startWriters(database, log);
  const lateness = monitorEventLoopDelay({ resolution: 1 });
  lateness.enable();
  try {
    const course = await follow(context, database, size, { writers, log });
    lateness.disable();
    return {
      ...report(course, log),
      notes: [
        ...describeCourse(course),
        `Longest write with its COMMIT, which waits for the disk: ${log
          .wholes()
          .map(({ what, p100 }) => `${what} ${ms(p100)}`)
          .join(', ')}`,
        `This process itself was late by at most ${ms(lateness.max / 1e6)}: ` +
          'a write can seem to take that much longer than it did',
      ],
    };
  } finally {
    await writers.stop();
  }
}

async function follow(
  { progress }: BenchmarkContext,
  database: Database,
  size: Size,
  { writers, log }: { writers: LiveTraffic; log: WriteLog },
): Promise<Course> {
  const seconds = new Map<string, number>();
  const timed = async (name: string, command: () => Promise<unknown>) => {
    progress(`${name}, with writers`);
    log.begin(name);
    const start = performance.now();
    await command();
    seconds.set(name, (performance.now() - start) / 1000);
  };

  await pause(size.baselineSeconds * 1000);
  await timed('phase 1', () => runPhase(database, 1));
  await timed('phase 2', () => runPhase(database, 2));
  await timed('phase 3', () => runPhase(database, 3));

  await runStatements(database, [
    `alter role ${APP_ROLE} password '${PASSWORD}'`,
  ]);
  await writers.deploy(newApplication(database));
  await timed('phase 4', () => runPhase(database, 4));

  const clock = new StepClock();
  const forth: SwapResult[] = [];
  await timed('phase 5', async () => {
    forth.push(
      await watchSwap(
        log,
        reporter => runPhase(database, 5, reporter),
        clock.reporter,
      ),
    );
  });
  const steps = clock.times();

  progress(`${size.swaps} times the swap back and forth, with writers`);
  const swaps = await swapBackAndForth(database, log, size.swaps);
  await timed('rollback to phase 3', () => goBack(database, 3));

  await writers.deploy(oldApplication(database));
  await timed('rollback to before phase 1', () => goBack(database, 0));
  return {
    seconds,
    steps,
    back: swaps.back,
    forth: [...forth, ...swaps.forth],
  };
}

function report({ seconds, back, forth }: Course, log: WriteLog) {
  const longest = (results: SwapResult[]) =>
    results.map(({ longest: { wait } }) => wait);
  const swaps = waitsOfEach(
    'longest wait of each swap and rollback',
    longest([...forth, ...back]),
    log.failed,
  );
  return {
    waits: [...log.waits(), judge(swaps, SWAP_TARGET_MS)],
    durations: [
      ...Array.from(seconds, ([what, took]) => ({
        what,
        seconds: took,
        expected: expectations[what] ?? '',
      })),
      {
        what: 'downtime of the swap: its longest wait',
        seconds: Math.max(...longest(forth)) / 1000,
        expected: expectations.swap,
      },
      {
        what: 'downtime of its rollback: its longest wait',
        seconds: Math.max(...longest(back)) / 1000,
        expected: expectations.rollback,
      },
    ],
    failures:
      log.failed > 0
        ? [
            `${log.failed} writes failed, which must not happen`,
            ...log.failures,
          ]
        : [],
  };
}

function describeCourse({ steps, back, forth }: Course): string[] {
  const describe = (what: string, results: SwapResult[]) =>
    `${what}, each: longest wait ${results
      .map(({ longest }) => ms(longest.wait))
      .join(', ')}; with COMMIT ${results
      .map(({ longest }) => ms(longest.whole))
      .join(', ')}; retries ${results
      .map(({ retries }) => retries)
      .join(', ')}; whole command ${results
      .map(({ seconds }) => `${seconds.toFixed(1)} s`)
      .join(', ')}`;
  return [
    `Phase 5 with writers: ${steps
      .map(({ name, seconds }) => `${name} ${seconds.toFixed(1)} s`)
      .join(', ')}`,
    describe('Swaps', forth),
    describe('Rollbacks of the swap', back),
  ];
}

function ms(value: number): string {
  return `${value.toFixed(1)} ms`;
}

/** What a command that swaps the tables did to the writers. */
interface SwapResult {
  /** Of the writes that were under way during the swap. */
  longest: Longest;
  /** How often the swap was begun again, because a lock was not granted in time. */
  retries: number;
  seconds: number;
}

/**
 * Runs a command that swaps the tables once, and finds the longest write from the
 * moment on at which the command begins to ask for the locks.
 */
async function watchSwap(
  log: WriteLog,
  command: (reporter: typeof silentReporter) => Promise<unknown>,
  reporter = silentReporter,
): Promise<SwapResult> {
  const start = performance.now();
  let from = start;
  let retries = 0;
  await command({
    ...reporter,
    waiting: (what, attempts) => {
      retries = Math.max(retries, what === 'Swap the tables' ? attempts : 0);
    },
    progress: (what, total) => {
      const progress = reporter.progress(what, total);
      return {
        advance: rows => progress.advance(rows),
        finish: () => {
          progress.finish();
          // The last thing before the swap is to replay the change log.
          from = performance.now();
          log.keep();
        },
      };
    },
  });
  const to = performance.now();
  return {
    longest: log.longestWithin({ from, to }),
    retries,
    seconds: (to - start) / 1000,
  };
}

/** Rolls the swap back, and swaps again, so many times. */
async function swapBackAndForth(
  database: Database,
  log: WriteLog,
  times: number,
): Promise<{ back: SwapResult[]; forth: SwapResult[] }> {
  const back: SwapResult[] = [];
  const forth: SwapResult[] = [];
  for (let count = 0; count < times; count += 1) {
    log.begin('rollback of the swap, all of the command');
    back.push(
      await watchSwap(log, reporter => goBack(database, undefined, reporter)),
    );
    log.begin('swap again, all of the command');
    forth.push(
      await watchSwap(log, reporter => runPhase(database, 5, reporter)),
    );
  }
  return { back, forth };
}
