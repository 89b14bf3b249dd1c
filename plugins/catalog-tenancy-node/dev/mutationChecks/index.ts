/**
 * Removes one guarantee at a time from a copy of the repository, and shows that a test fails
 * without each: `npm run mutation-checks`.
 */

import { writeFileSync } from 'fs';
import { parseArgs } from 'util';
import { sampleOf } from '@internal/postgres/sample';
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
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      sample: { type: 'string' },
      seed: { type: 'string', default: new Date().toISOString().slice(0, 10) },
      report: { type: 'string' },
    },
  });
  const { sample, seed, report } = values;
  const selected = mutationChecks.filter(({ name }) =>
    positionals.every(word => name.includes(word)),
  );
  if (selected.length === 0) {
    const names = mutationChecks.map(({ name }) => `  ${name}`).join('\n');
    throw new Error(
      `No mutation check is called "${positionals.join(
        ' ',
      )}". Expected one of\n${names}`,
    );
  }
  if (sample === undefined) {
    return { checks: selected, report };
  }
  if (!/^[1-9]\d*$/.test(sample)) {
    throw new Error(
      `--sample is "${sample}", expected a whole number of 1 or more`,
    );
  }
  process.stdout.write(
    `${sample} of ${selected.length} mutation checks; the same with --sample ${sample} --seed ${seed}\n`,
  );
  return { checks: sampleOf(selected, Number(sample), seed!), report };
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
