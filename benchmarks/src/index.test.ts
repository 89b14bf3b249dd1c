import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { sampleOf } from '@internal/postgres/sample';
import type { BenchmarkResult } from './harness/Benchmark';
import type { Comparison } from './harness/comparison';
import type { Report } from './harness/report';

const run = promisify(execFile);

// Far more than it takes, even beside other tests: then it is stopped.
const LIMIT_MS = 590_000;

/** How many rows of a comparison each has in short. */
const ROWS: Record<string, number> = {
  catalog: 24,
  pages: 22,
  scope: 14,
  migration: 0,
  fairness: 9,
  engines: 2,
};

/** How many of the others a text in `BENCHMARKS` chooses. */
const CHOSEN = 1;

/** All of them take minutes: one, unless `BENCHMARKS` is `all` or chooses more. */
function chosenNames(choice = process.env.BENCHMARKS): string[] {
  const [first, others] = ['scope', Object.keys(ROWS)];
  if (choice === 'all') {
    return others;
  }
  const rest = others.filter(name => name !== first).map(name => ({ name }));
  const chosen = choice ? sampleOf(rest, CHOSEN, choice) : [];
  return [first, ...chosen.map(({ name }) => name)];
}

// Never about timing: whether it is fast is for people to judge, on a machine
// that does nothing else.
it.each(chosenNames())(
  'runs the smallest benchmark of %s to its end',
  async name => {
    const { stdout } = await run(
      process.execPath,
      [
        ...[
          '--require',
          require.resolve('@backstage/cli/config/nodeTransform.cjs'),
        ],
        require.resolve('./index.ts'),
        ...[name, '--short', '--json', '--rounds', '1', '--seconds', '0.05'],
      ],
      { timeout: LIMIT_MS },
    );

    const { results, settings }: Report = JSON.parse(stdout);
    expect(settings).toMatchObject({ short: true, rounds: 1, seconds: 0.05 });
    expect(Object.keys(results)).toEqual([name]);
    expect(results[name].comparisons).toHaveLength(ROWS[name]);
    expectComplete(results[name]);
  },
  LIMIT_MS + 10_000,
);

const toRow = ({ what, ours, alternative }: Comparison) =>
  `${what}: ${ours.name} / ${alternative.name}`;

/** What has to be right of each row; that all sides answered the same, the run has checked. */
function expectComplete({
  comparisons,
  figures = [],
  failures = [],
}: BenchmarkResult) {
  expect(failures).toEqual([]);
  expect(new Set(comparisons.map(toRow)).size).toBe(comparisons.length);
  for (const { ours, alternative } of comparisons) {
    expect(ours.rounds).toHaveLength(1);
    expect(alternative.rounds).toHaveLength(1);
  }
  for (const { head, rows } of figures) {
    expect(rows).not.toHaveLength(0);
    const writes = head.indexOf('writes');
    for (const row of writes < 0 ? [] : rows) {
      // Each stage of the migration had writes, of which none failed.
      expect(row[writes]).toBeGreaterThan(0);
      expect(row.at(-1)).toBe(0);
    }
  }
}
