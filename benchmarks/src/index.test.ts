import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { sampleOf } from '@internal/postgres/sample';
import type { BenchmarkResult } from './harness/Benchmark';
import type { Report } from './harness/report';

const run = promisify(execFile);

// Far more than it takes, even beside other tests: then it is stopped.
const LIMIT_MS = 590_000;

const EXPECTATIONS: Record<string, (result: BenchmarkResult) => void> = {
  catalog: expectCatalog,
  pages: expectPages,
  scope: expectScope,
  migration: expectMigration,
  fairness: expectFairness,
  engines: expectEngines,
};

/** How many of the others a text in `BENCHMARKS` chooses. */
const CHOSEN = 1;

/** All of them take minutes: one, unless `BENCHMARKS` is `all` or chooses more. */
function chosenNames(choice = process.env.BENCHMARKS): string[] {
  const [first, others] = ['scope', Object.keys(EXPECTATIONS)];
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
    EXPECTATIONS[name](results[name]);
  },
  LIMIT_MS + 10_000,
);

// That both sides gave the same answers has been checked, or it would have failed.
function expectCatalog({ comparisons }: BenchmarkResult) {
  const whats = [
    'by name',
    'by name',
    'by name, as a user',
    'by refs, 50 of them',
    'list of 100',
    'first page of 20',
    'filter: kind and type',
    'filter: a tag',
    'filter: an owner',
    'facets',
    'facets of a kind',
    'full text, in the order of names',
  ];
  expect(comparisons.map(({ what }) => what)).toEqual(
    whats.map(what => `500, 1 of 10 tenants: ${what}`),
  );
  for (const { ours, alternative } of comparisons) {
    expect(ours.rounds).toHaveLength(1);
    expect(alternative.rounds).toHaveLength(1);
  }
}

// That both sides answered each recorded request the same has been checked, too.
function expectPages({ comparisons }: BenchmarkResult) {
  const whats = [
    ...[
      'index page',
      'index page, all',
      'search as one types',
      'entity page',
      'entity page of a system',
      'page of a team',
      'page of the user',
      'graph',
      'all of them',
    ].map(what => `500, 1 of 5 tenants: ${what}, one user`),
    '500, 1 of 5 tenants: all of them, 5 users',
  ];
  expect(comparisons.map(c => `${c.what}: ${c.ours.name} (${c.unit})`)).toEqual(
    whats.flatMap(what =>
      ['ours', 'ours, decisions kept', 'nothing'].map(
        name => `${what}: ${name} (pages)`,
      ),
    ),
  );
  for (const { ours, alternative, ratio } of comparisons) {
    expect(ours.rounds).toHaveLength(1);
    expect(alternative.rounds).toHaveLength(1);
    expect(ratio.median).toBeGreaterThan(0);
  }
}

function expectMigration({
  comparisons,
  figures: [waits] = [],
  notes,
  failures,
}: BenchmarkResult) {
  expect(
    comparisons.map(c => `${c.what}: ${c.ours.name} / ${c.alternative.name}`),
  ).toEqual(['copy: phase 5, 5_30 to 5_60 / INSERT … SELECT']);
  for (const { ratio } of comparisons) {
    expect(ratio.median).toBeGreaterThan(0);
  }
  // Not a write failed, and each of them was made while something went on.
  expect(failures).toEqual([]);
  expect(waits.rows.map(([what]) => what)).toEqual([
    'before phase 1',
    'phase 1',
    'phase 2',
    'phase 3',
    'phase 4',
    'phase 5',
    'rollback of the swap, all of the command',
    'swap again, all of the command',
    'rollback to phase 3',
    'rollback to before phase 1',
  ]);
  const writes = waits.head.indexOf('writes');
  for (const row of waits.rows) {
    expect(row[writes]).toBeGreaterThan(0);
    expect(row.at(-1)).toBe(0);
  }
  expect(notes[0]).toMatch(/^Longest waits of 3 swaps and rollbacks: /);
}

// That all sides read the same has been checked, or it would have failed.
function expectScope({
  circumstances,
  comparisons,
  failures,
}: BenchmarkResult) {
  expect(circumstances).toContain('1 rounds of 0.005 s;');
  const situations = ['2 tenants', '5 tenants', '5 tenants, 1 ms away'];
  const growth = (of: string) => `${of}: of 5 tenants / of 2 tenants`;
  const places = ['partitions of their own', 'the default partition'];
  expect(
    comparisons.map(c => `${c.what}: ${c.ours.name} / ${c.alternative.name}`),
  ).toEqual(
    situations.flatMap(situation =>
      ['getEntity', 'listEntities'].flatMap(operation =>
        places.flatMap(place => [
          ...['bare query', 'knex.transaction'].map(
            alternative =>
              `${operation}, ${situation}, ${place}: ours / ${alternative}`,
          ),
          ...(situation === '5 tenants'
            ? [growth(`${operation}, growth, ${place}`)]
            : []),
        ]),
      ),
    ),
  );
  expect(comparisons.flatMap(({ target }) => target ?? [])).toEqual([
    ...[2, 0.77, 0.77, 0.77, 0.77, 0.8, 0.8],
  ]);
  expect(failures ?? []).toEqual([]);
}

// That every answer to the quiet tenant was right has been checked, or it would have failed.
function expectFairness({ comparisons }: BenchmarkResult) {
  const [limits, none] = ['with limits', 'without limits'];
  expect(
    comparisons.map(c => `${c.what}: ${c.ours.name} / ${c.alternative.name}`),
  ).toEqual(
    ['facets', 'ordered pages', 'full lists, with fields'].flatMap(noise => [
      `quiet, beside 20 × ${noise}: ${limits} / alone`,
      `quiet, beside 20 × ${noise}: ${limits} / ${none}`,
      `noisy, 20 × ${noise}: ${limits} / ${none}`,
    ]),
  );
}

// That every entity was served has been waited for, or it would have failed.
function expectEngines({ comparisons, notes }: BenchmarkResult) {
  expect(
    comparisons.map(c => `${c.what}: ${c.ours.name} / ${c.alternative.name}`),
  ).toEqual([
    'change 12 entities: 1 tenant / one stock engine',
    'change 12 entities: 2 tenants / one stock engine',
  ]);
  for (const { ratio } of comparisons) {
    expect(ratio.median).toBeGreaterThan(0);
  }
  expect(notes).toHaveLength(3);
}
