/**
 * Removes what keeps tenants apart, one guarantee at a time, and shows that tests fail
 * without each: `npm run mutation-checks`.
 */

import { writeFileSync } from 'fs';
import { parseArgs } from 'util';
import { type MutationCheck, sampleOf } from './MutationCheck';
import { mutationChecks } from './mutationChecks';
import { isNoticed, Workspace } from './Workspace';

const USAGE = `npm run mutation-checks -- [options] [words]

  words          run the checks whose names contain all of them; otherwise all checks
  --sample <n>   of these run only so many, chosen by the seed
  --seed <text>  any text; another one for each day by default
  --report <file>
                 write {"noticed": n, "missed": n} to it
`;

interface Options {
  checks: MutationCheck[];
  report?: string;
}

/** @throws Error with a text for whoever typed the arguments */
function parse(args: string[]): Options {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      sample: { type: 'string' },
      seed: { type: 'string' },
      report: { type: 'string' },
    },
  });
  const checks = mutationChecks.filter(({ name }) =>
    positionals.every(word => name.includes(word)),
  );
  if (checks.length === 0) {
    const names = mutationChecks.map(({ name }) => `  ${name}`).join('\n');
    throw new Error(
      `No mutation check is called "${positionals.join(
        ' ',
      )}". Expected one of\n${names}`,
    );
  }
  const {
    report,
    sample,
    seed = new Date().toISOString().slice(0, 10),
  } = values;
  if (sample === undefined) {
    return { checks, report };
  }
  if (!/^[1-9]\d*$/.test(sample)) {
    throw new Error(
      `--sample is "${sample}", expected a whole number of 1 or more`,
    );
  }
  process.stdout.write(
    `${sample} of ${checks.length} mutation checks; the same with --sample ${sample} --seed ${seed}\n`,
  );
  return { checks: sampleOf(checks, Number(sample), seed), report };
}

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
  let options: Options;
  try {
    options = parse(args);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${USAGE}`);
    return 2;
  }
  const { checks, report } = options;
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
