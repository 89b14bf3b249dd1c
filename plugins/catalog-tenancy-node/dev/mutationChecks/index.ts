/**
 * Removes one guarantee at a time from a copy of the repository, and shows that a test fails
 * without each: `npm run mutation-checks`.
 */

import { writeFileSync } from 'fs';
import { parseSelection, sampleOf } from '@internal/postgres/sample';
import { type MutationCheck, mutationChecks } from './mutationChecks';
import { Workspace } from './Workspace';

const USAGE = `npm run mutation-checks -- [options] [words]

  words            run the checks whose names contain all of them; otherwise all checks
  --sample <n>     run only so many of these, chosen by the seed
  --seed <text>    any text; the date by default
  --report <file>  write {"noticed": n, "missed": n} to it
`;

/** @returns the checks to run, and the file for the counts */
function choose(args: string[]): { checks: MutationCheck[]; report?: string } {
  const { selected, sample, seed, report } = parseSelection(
    args,
    mutationChecks,
    'mutation check',
  );
  if (sample === undefined) {
    return { checks: selected, report };
  }
  process.stdout.write(
    `${sample} of ${selected.length} mutation checks; the same with --sample ${sample} --seed ${seed}\n`,
  );
  return { checks: sampleOf(selected, sample, seed), report };
}

/** @returns whether a test noticed it */
function run(check: MutationCheck, workspace: Workspace): boolean {
  const began = Date.now();
  process.stdout.write(`Without ${check.name}: `);
  const { noticed, summary } = workspace.testWithout(check);
  const seconds = Math.round((Date.now() - began) / 1000);
  process.stdout.write(
    `${noticed ? '' : 'NOT NOTICED, '}${seconds} s, ${summary}\n`,
  );
  return noticed;
}

function main(args: string[]): number {
  let choice: ReturnType<typeof choose>;
  try {
    choice = choose(args);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${USAGE}`);
    return 2;
  }
  const { checks, report } = choice;
  const workspace = new Workspace();
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
