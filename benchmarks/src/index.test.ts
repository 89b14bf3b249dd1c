import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Report } from './harness/report';

const run = promisify(execFile);

// Never about timing: whether it is fast is for people to judge, on a machine
// that does nothing else.
it('runs the smallest benchmark to its end', async () => {
  const { stdout } = await run(process.execPath, [
    ...[
      '--require',
      require.resolve('@backstage/cli/config/nodeTransform.cjs'),
    ],
    require.resolve('./index.ts'),
    ...['--short', '--json', '--rounds', '1', '--seconds', '0.05'],
  ]);

  const { results, settings }: Report = JSON.parse(stdout);
  expect(settings).toMatchObject({ short: true, rounds: 1, seconds: 0.05 });
  const { comparisons, notes } = results.mockup;
  expect(
    comparisons.map(c => `${c.what}: ${c.ours.name} / ${c.alternative.name}`),
  ).toEqual([
    'read a mockup: ours, routes alone / express + pg',
    'read a mockup: ours, in a whole backend / express + pg',
    'save a version: ours, routes alone / express + pg',
    'save a version: ours, in a whole backend / express + pg',
    'read the newest of many: of 10 versions / of 1 version',
    'read the newest of many: of 100 versions / of 1 version',
    'read the newest of many: of 1,000 versions / of 1 version',
  ]);
  for (const { ours, alternative, ratio } of comparisons) {
    expect(ours.rounds).toHaveLength(1);
    expect(alternative.rounds).toHaveLength(1);
    expect(ratio.median).toBeGreaterThan(0);
  }
  // One statement for each of ours, or it would have failed.
  expect(notes).toHaveLength(2);
}, 60_000);
