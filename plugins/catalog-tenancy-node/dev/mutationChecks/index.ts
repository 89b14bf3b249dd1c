/**
 * Removes what keeps tenants apart, one guarantee at a time, and shows that tests fail
 * without each: `npm run mutation-checks`, or `npm run mutation-checks -- policy` for
 * those whose name contains a word.
 */

import { mutationChecks } from './mutationChecks';
import { Workspace } from './Workspace';

function main(words: string[]): number {
  const chosen = mutationChecks.filter(({ name }) =>
    words.every(word => name.includes(word)),
  );
  if (chosen.length === 0) {
    const names = mutationChecks.map(({ name }) => `  ${name}`).join('\n');
    process.stderr.write(
      `No mutation check is called "${words.join(
        ' ',
      )}". Expected one of\n${names}\n`,
    );
    return 2;
  }
  process.stdout.write('Cloning the last commit and installing it\n');
  const workspace = Workspace.create();
  try {
    const missed = chosen.filter(check => {
      process.stdout.write(`Without ${check.name}: `);
      const { failed, total, broken, names } = workspace.testWithout(check);
      const noticed = failed > 0 && broken === 0;
      process.stdout.write(
        `${failed} of ${total} tests failed${
          noticed ? '' : '  <-- NOT NOTICED'
        }\n${names.map(name => `    ${name}\n`).join('')}`,
      );
      return !noticed;
    });
    process.stdout.write(
      `${chosen.length - missed.length} of ${
        chosen.length
      } removed guarantees were noticed by a test\n`,
    );
    return missed.length === 0 ? 0 : 1;
  } finally {
    workspace.remove();
  }
}

process.exitCode = main(process.argv.slice(2));
