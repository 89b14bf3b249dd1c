// What `npm run other-versions` runs: tests in a copy of this repository that has other versions
// of what it depends on.

import { spawnSync } from 'child_process';
import {
  copyFileSync,
  cpSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'fs';
import { tmpdir } from 'os';
import { basename, join, resolve } from 'path';
import { targetPaths } from '@backstage/cli-common';
import { run, yarn } from './deployment';
import { readInstalled, versionsOf } from './installed';

const USAGE = `npm run other-versions -- --lock <file> [tests] [options of Jest]
npm run other-versions -- --newest [tests] [options of Jest]

  --lock <file>  the versions of this lock file, to which is added what is missing for
                 our package.json, unless CI is set
  --newest       the newest that are published, whatever our ranges allow of the catalog,
                 backend-defaults and search; prints what is new in upstream's tables
  tests          files and folders; by default those in .ci/other-versions-tests
`;

/** What may be newer than our ranges allow. */
const NEWEST = [
  '@backstage/backend-defaults',
  '@backstage/plugin-catalog-backend',
  '@backstage/plugin-search-backend',
  '@backstage/plugin-search-backend-module-pg',
];

const NOT_COPIED = [
  ...['node_modules', '.git', '.yarn', '.postgres'],
  ...['dist', 'dist-packages', 'dist-types', 'coverage', 'profiles'],
];

function copyRepository(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'other-versions-')));
  cpSync(targetPaths.rootDir, folder, {
    recursive: true,
    filter: path => !NOT_COPIED.includes(basename(path)),
  });
  return folder;
}

// Of a package that is in the cache, links to its files instead of copies of them.
const LINKED = { YARN_NM_MODE: 'hardlinks-global' };

/** On a CI the lock stays as it is. */
function installLocked(copy: string, lock: string): void {
  const used = join(copy, 'yarn.lock');
  copyFileSync(lock, used);
  yarn(copy, ['install', ...(process.env.CI ? ['--immutable'] : [])], LINKED);
  copyFileSync(used, lock);
}

function installNewest(copy: string): void {
  const path = join(copy, 'package.json');
  const manifest = JSON.parse(readFileSync(path, 'utf8'));
  for (const name of NEWEST) {
    manifest.resolutions[name] = 'latest';
  }
  writeFileSync(path, JSON.stringify(manifest, null, 2));
  // The rest of Backstage in its newest versions too, for there would be two copies.
  yarn(copy, ['up', '--recursive', '@backstage/*'], {
    ...LINKED,
    YARN_ENABLE_IMMUTABLE_INSTALLS: 'false',
    YARN_NPM_MINIMAL_AGE_GATE: '0',
  });
}

/** What is another version than here, or there more than once. */
async function printVersions(copy: string): Promise<void> {
  const ours = await readInstalled(targetPaths.rootDir);
  const theirs = await readInstalled(copy);
  const others = [...theirs]
    .filter(
      ([name, copies]) =>
        name.startsWith('@backstage/') &&
        (copies.length > 1 ||
          versionsOf(ours, name) !== versionsOf(theirs, name)),
    )
    .map(([name]) => name);
  const shown = [...new Set([...NEWEST, ...others])].sort();
  process.stdout.write(
    `Versions that were taken: ${shown
      .map(
        name =>
          `${name} ${versionsOf(theirs, name)} (here ${versionsOf(
            ours,
            name,
          )})`,
      )
      .join(', ')}\n`,
  );
}

/** What upstream's migrations make, one line for each object. */
function upstreamSchema(repository: string): string[] {
  return JSON.parse(
    run(repository, process.execPath, [
      ...['--require', '@backstage/cli/config/nodeTransform.cjs'],
      'packages/catalog-testing/dev/upstreamSchema.ts',
    ]),
  );
}

function printNewSchema(copy: string): void {
  const ours = upstreamSchema(targetPaths.rootDir);
  const theirs = upstreamSchema(copy);
  const changes = [
    ...theirs.filter(line => !ours.includes(line)).map(line => `+ ${line}`),
    ...ours.filter(line => !theirs.includes(line)).map(line => `- ${line}`),
  ];
  process.stdout.write(
    changes.length > 0
      ? `New in upstream's schema:\n${changes.join('\n')}\n`
      : `Nothing is new in upstream's schema, of ${ours.length} objects.\n`,
  );
}

function listedTests(): string[] {
  return readFileSync(
    targetPaths.resolveRoot('.ci/other-versions-tests'),
    'utf8',
  )
    .split('\n')
    .filter(line => line && !line.startsWith('#'));
}

async function main([mode, ...args]: string[]): Promise<number> {
  // Relative to where the command was typed.
  const lock =
    mode === '--lock' && args.length > 0
      ? resolve(process.env.INIT_CWD ?? '.', args.shift()!)
      : undefined;
  if (!lock && mode !== '--newest') {
    process.stderr.write(USAGE);
    return 2;
  }
  const hasTests = args.some(arg => !arg.startsWith('-'));
  const copy = copyRepository();
  try {
    if (lock) {
      installLocked(copy, lock);
    } else {
      installNewest(copy);
    }
    await printVersions(copy);
    if (!lock) {
      printNewSchema(copy);
    }
    const { status } = spawnSync(
      'npm',
      [
        ...['test', '--ignore-scripts', '--'],
        ...(hasTests ? [] : listedTests()),
        ...args,
      ],
      {
        cwd: copy,
        stdio: 'inherit',
        env: { ...process.env, LONG_TESTS: 'all' },
      },
    );
    return status ?? 1;
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

main(process.argv.slice(2)).then(
  status => {
    process.exitCode = status;
  },
  error => {
    process.stderr.write(`${error.stack}\n`);
    process.exitCode = 1;
  },
);
