/**
 * Removes what keeps tenants apart, one guarantee at a time, and shows that tests fail
 * without each: `npm run mutation-checks`.
 */

import { writeFileSync } from 'fs';
import {
  parseSelection,
  sampleOf,
  type Selection,
} from '@internal/postgres/sample';
import type { MutationCheck } from './MutationCheck';
import { mutationChecks } from './mutationChecks';
import { isNoticed, Workspace } from './Workspace';

const USAGE = `npm run mutation-checks -- [options] [words]

  words          run the checks whose names contain all of them; otherwise all checks
  --sample <n>   of these run only so many, chosen by the seed
  --seed <text>  any text; another one for each day by default
  --report <file>
                 write {"noticed": n, "missed": n} to it
`;

/** @returns whether a test noticed it */
function run(check: MutationCheck, workspace: Workspace): boolean {
  process.stdout.write(`Without ${check.name}: `);
  const result = workspace.testWithout(check);
  const { failed, total, names } = result;
  const noticed = isNoticed(result);
  process.stdout.write(
    `${failed} of ${total} tests failed${
      noticed ? '' : '  <-- NOT NOTICED'
    }\n${names.map(name => `    ${name}\n`).join('')}`,
  );
  return noticed;
}

function main(args: string[]): number {
  let selection: Selection<MutationCheck>;
  try {
    selection = parseSelection(args, mutationChecks, 'mutation check');
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${USAGE}`);
    return 2;
  }
  const { selected, sample, seed, report } = selection;
  if (sample !== undefined) {
    process.stdout.write(
      `${sample} of ${selected.length} mutation checks; the same with --sample ${sample} --seed ${seed}\n`,
    );
  }
  const checks =
    sample === undefined ? selected : sampleOf(selected, sample, seed);
  const workspace = Workspace.create();
  try {
    const noticed = checks.filter(check => run(check, workspace)).length;
    const missed = checks.length - noticed;
    process.stdout.write(
      `${noticed} of ${checks.length} removed guarantees were noticed by a test\n`,
    );
    if (report) {
      writeFileSync(report, JSON.stringify({ noticed, missed }));
    }
    return missed === 0 ? 0 : 1;
  } finally {
    workspace.remove();
  }
}

process.exitCode = main(process.argv.slice(2));
