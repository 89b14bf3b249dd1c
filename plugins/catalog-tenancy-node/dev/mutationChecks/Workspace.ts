import { spawnSync } from 'child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'fs';
import { tmpdir } from 'os';
import { basename, dirname, join, relative, sep } from 'path';
import type { Edit, MutationCheck } from './mutationChecks';

const REPOSITORY = realpathSync(join(__dirname, '..', '..', '..', '..'));
const MODULES = 'node_modules';
/** Folders that are not source code. */
const NOT_COPIED = [
  ...[MODULES, '.git', '.yarn', '.postgres'],
  ...['dist', 'dist-types', 'coverage', 'profiles'],
];

/** What a test file says. */
export interface TestRun {
  /** Whether a test failed. A file that does not run at all has none. */
  noticed: boolean;
  /** How many failed of how many, and the first of these. */
  summary: string;
}

/**
 * A copy of the repository in which code is broken without harm. It uses the installed
 * packages of the repository.
 */
export class Workspace {
  readonly #folder = realpathSync(
    mkdtempSync(join(tmpdir(), 'mutation-checks-')),
  );

  constructor() {
    cpSync(REPOSITORY, this.#folder, {
      recursive: true,
      filter: path => !NOT_COPIED.includes(basename(path)),
    });
    for (const path of ['', ...workspacePackages()]) {
      if (existsSync(join(REPOSITORY, path, MODULES))) {
        linkInstalled(path, this.#folder);
      }
    }
  }

  /** Runs the test file of a check with its guarantee removed. */
  testWithout({ also = [], test, ...edit }: MutationCheck): TestRun {
    const originals = [edit, ...also].map(each => this.#apply(each));
    try {
      return this.#test(test);
    } finally {
      originals.forEach(restore => restore());
    }
  }

  /** Returns what undoes it. */
  #apply({ file, find, replace }: Edit): () => void {
    const path = join(this.#folder, file);
    const original = readFileSync(path, 'utf8');
    const places = original.split(find).length - 1;
    if (places !== 1) {
      throw new Error(`${file} has "${find}" ${places} times, expected once`);
    }
    const changed = original.replace(find, () => replace);
    writeFileSync(path, changed);
    return () => writeFileSync(path, original);
  }

  #test(path: string): TestRun {
    const report = join(this.#folder, 'mutation-checks-report.json');
    rmSync(report, { force: true });
    const { stderr } = spawnSync(
      'npx',
      [
        ...['backstage-cli', 'repo', 'test', '--watchAll=false', path],
        ...['--testTimeout=180000', '--json', `--outputFile=${report}`],
      ],
      {
        cwd: this.#folder,
        // Its tests are meant to fail, often by waiting in vain.
        env: { ...process.env, CI: 'true', TEST_DEADLINE_MS: '10000' },
        encoding: 'utf8',
        maxBuffer: 256 * 1024 * 1024,
      },
    );
    if (!existsSync(report)) {
      throw new Error(`The tests wrote no report:\n${stderr.slice(-2000)}`);
    }
    return summarize(JSON.parse(readFileSync(report, 'utf8')));
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** The folders of the packages of the repository, from its root. */
function workspacePackages(): string[] {
  const { workspaces } = JSON.parse(
    readFileSync(join(REPOSITORY, 'package.json'), 'utf8'),
  );
  return (workspaces as string[]).flatMap(pattern =>
    pattern.endsWith('/*')
      ? readdirSync(join(REPOSITORY, dirname(pattern))).map(name =>
          join(dirname(pattern), name),
        )
      : [pattern],
  );
}

/** Links the installed packages of a package. Links to packages of the repository lead to the copy. */
function linkInstalled(path: string, copy: string): void {
  const installed = join(REPOSITORY, path, MODULES);
  const names = readdirSync(installed).flatMap(name =>
    name.startsWith('@')
      ? readdirSync(join(installed, name)).map(each => join(name, each))
      : [name],
  );
  for (const name of names) {
    const link = join(copy, path, MODULES, name);
    const target = realpathSync(join(installed, name));
    const inside = relative(REPOSITORY, target);
    const isOurs =
      !inside.startsWith('..') && !inside.split(sep).includes(MODULES);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(isOurs ? join(copy, inside) : target, link);
  }
}

function summarize(report: {
  numFailedTests: number;
  numTotalTests: number;
  testResults: {
    assertionResults: { fullName: string; status: string }[];
  }[];
}): TestRun {
  const names = report.testResults
    .flatMap(file => file.assertionResults)
    .filter(test => test.status === 'failed')
    .map(test => `\n    ${test.fullName}`);
  return {
    noticed: report.numFailedTests > 0,
    summary: `${report.numFailedTests} of ${
      report.numTotalTests
    } tests failed${names.slice(0, 3).join('')}`,
  };
}
