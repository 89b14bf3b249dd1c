import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

// Of the command line alone.
const CLI_PACKAGES = [
  '@backstage/config-loader',
  'cli-progress',
  'cli-table3',
  'commander',
];

const LOADER = require.resolve('@backstage/cli/config/nodeTransform.cjs');

/** What a process has loaded once it has imported a module: packages, and folders of ours. */
async function loadedBy(module: string): Promise<string[]> {
  const script = `
    require(${JSON.stringify(module)});
    const names = Object.keys(require.cache).map(path =>
      path.match(/.*[/]node_modules[/]((@[^/]+[/])?[^/]+)|migrations[/](src[/][^/]+)/));
    console.log(JSON.stringify(names.map(found => found && (found[1] ?? found[3]))));`;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--require', LOADER, '--eval', script],
    { cwd: __dirname },
  );
  return JSON.parse(stdout);
}

it('the library brings nothing of what only the command line needs', async () => {
  const [library, cli] = await Promise.all([
    loadedBy(require.resolve('./index')),
    loadedBy(require.resolve('./cli/program')),
  ]);
  // So that the list is one of packages that are there to be brought.
  expect(cli).toEqual(expect.arrayContaining([...CLI_PACKAGES, 'src/cli']));
  expect(library).toContain('pg');
  expect(
    library.filter(name => [...CLI_PACKAGES, 'src/cli'].includes(name)),
  ).toEqual([]);
});
