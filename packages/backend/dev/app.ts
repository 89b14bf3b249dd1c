import { targetPaths } from '@backstage/cli-common';
import { PackageGraph } from '@backstage/cli-node';
import { spawn } from 'child_process';
import { createHash } from 'crypto';
import { once } from 'events';
import { readdir, readFile, rm, writeFile } from 'fs/promises';
import { dirname, join, relative } from 'path';
import { text } from 'stream/consumers';
import { StartError } from './settings';

const APP = 'app';

/** In the build, which starts empty: of what the build was made. The backend serves no dotfile. */
const FINGERPRINT_FILE = 'dist/.sources';

/** The names of files and folders of a package that no build contains. */
const LEFT_OUT =
  /^(node_modules|dist|dist-types|e2e-tests|__\w+__|\..*|setupTests\.ts|.*\.test\.tsx?|.*\.md)$/;

const PROGRESS_MS = 5_000;

/** The folders of packages/app and of the packages of this repository that its build contains. */
async function findAppSources(): Promise<{
  folder: string;
  sources: string[];
}> {
  const graph = PackageGraph.fromPackages(
    await PackageGraph.listTargetPackages(),
  );
  const app = graph.get(APP);
  if (!app) {
    throw new StartError(
      'There is no package packages/app: npm start -- --no-app does without it',
    );
  }
  // No package.json names what is built into the package that imports it.
  const inlined = [...graph.values()].filter(
    ({ packageJson: { backstage } }) =>
      backstage?.inline && /^(web|common)-/.test(backstage.role ?? ''),
  );
  const names = graph.collectPackageNames(
    [APP, ...inlined.map(({ name }) => name)],
    node => node.localDependencies.keys(),
  );
  return {
    folder: app.dir,
    sources: [...names].map(name => graph.get(name)!.dir).sort(),
  };
}

/**
 * Builds the pages of this repository, unless the build that is there has been made of the sources
 * as they are.
 *
 * @param options - arguments that name configuration files; `app.packages` of these; what ends
 * the build, which then rejects; and where progress goes
 */
export async function buildPages(options: {
  config: string[];
  appPackages: string;
  signal?: AbortSignal;
  print: (line: string) => void;
}): Promise<void> {
  const { config, appPackages, signal, print } = options;
  const { folder, sources } = await findAppSources();
  const file = join(folder, FINGERPRINT_FILE);
  const fingerprint = await fingerprintOf(folder, sources, [
    appPackages,
    await readFile(targetPaths.resolveRoot('yarn.lock'), 'utf8'),
  ]);
  const built = await readFile(file, 'utf8').catch(() => undefined);
  if (built === fingerprint) {
    return;
  }
  // A build that fails half-way must not count.
  await rm(file, { force: true });
  const began = Date.now();
  const seconds = () => Math.round((Date.now() - began) / 1000);
  print(
    built === undefined
      ? 'Building the pages of the portal …'
      : 'Building the pages of the portal again, since their sources have changed …',
  );
  const progress = setInterval(
    () => print(`Building the pages: ${seconds()} s …`),
    PROGRESS_MS,
  );
  try {
    await runBuild(folder, { args: config, signal });
  } finally {
    clearInterval(progress);
  }
  await writeFile(file, fingerprint);
  print(`Built the pages in ${seconds()} s`);
}

/**
 * Builds a frontend as `backstage-cli package build` does, without what that prints.
 *
 * @throws with what the build has printed, if it fails
 */
async function runBuild(
  folder: string,
  { args, signal }: { args: string[]; signal?: AbortSignal },
): Promise<void> {
  const cli = join(
    dirname(require.resolve('@backstage/cli/package.json')),
    'bin/backstage-cli',
  );
  const exitWithParent = require.resolve('./exitWithParent.cjs');
  const command = ['--require', exitWithParent, cli, 'package', 'build'];
  const child = spawn(process.execPath, [...command, ...args], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    // Ctrl-C would otherwise reach it too, and look like a failure.
    detached: true,
    env: { ...process.env, NODE_ENV: 'production', CI: undefined },
    signal,
    killSignal: 'SIGKILL',
  });
  const [[code], output, errors] = await Promise.all([
    once(child, 'exit'),
    text(child.stdout!),
    text(child.stderr!),
  ]);
  if (code !== 0) {
    throw new Error(`${errors}${output}`.trim() || `Exit code ${code}`);
  }
}

/** Changes when the name or the content of a source does, or a setting. */
async function fingerprintOf(
  folder: string,
  sources: string[],
  settings: string[],
): Promise<string> {
  const found = await Promise.all(sources.map(listSources));
  const hash = createHash('sha256').update(JSON.stringify(settings));
  for (const file of found.flat().sort()) {
    hash.update(`\0${relative(folder, file)}\0`);
    hash.update(await readFile(file));
  }
  return hash.digest('hex');
}

async function listSources(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const found = await Promise.all(
    entries.map(async entry => {
      const path = join(folder, entry.name);
      if (LEFT_OUT.test(entry.name)) {
        return [];
      }
      return entry.isDirectory() ? listSources(path) : [path];
    }),
  );
  return found.flat();
}
