/**
 * Removes the guards that keep tenants apart, one at a time, and shows that tests
 * fail without each: `npm run guards`, or `npm run guards -- policy` for those whose
 * name contains a word.
 */

import { guards } from './guards';
import { Workspace } from './Workspace';

function main(words: string[]): number {
  const chosen = guards.filter(({ name }) =>
    words.every(word => name.includes(word)),
  );
  if (chosen.length === 0) {
    const names = guards.map(({ name }) => `  ${name}`).join('\n');
    process.stderr.write(
      `No guard is called "${words.join(' ')}". Expected one of\n${names}\n`,
    );
    return 2;
  }
  process.stdout.write('Cloning the last commit and installing it\n');
  const workspace = Workspace.create();
  try {
    const missed = chosen.filter(guard => {
      process.stdout.write(`Without ${guard.name}: `);
      const { failed, total, broken, names } = workspace.testWithout(guard);
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
      } guards are noticed when they are missing\n`,
    );
    return missed.length === 0 ? 0 : 1;
  } finally {
    workspace.remove();
  }
}

process.exitCode = main(process.argv.slice(2));
