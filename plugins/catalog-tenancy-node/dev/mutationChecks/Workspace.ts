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
import type { Edit, MutationCheck } from './MutationCheck';

const REPOSITORY = realpathSync(join(__dirname, '..', '..', '..', '..'));
const MODULES = 'node_modules';
/** Folders that are not source code. */
const NOT_COPIED = [
  ...[MODULES, '.git', '.yarn', '.postgres'],
  ...['dist', 'dist-types', 'coverage', 'profiles'],
];

/** How many tests of a run failed, and how many there were. */
export interface TestRun {
  failed: number;
  total: number;
  /** Files that did not run at all, such as for an error of syntax. */
  broken: number;
  /** The names of the first tests that failed. */
  names: string[];
}

/** A file that does not run at all shows nothing. */
export function isNoticed({ failed, broken }: TestRun): boolean {
  return failed > 0 && broken === 0;
}

interface JestReport {
  numFailedTests: number;
  numTotalTests: number;
  numRuntimeErrorTestSuites: number;
  testResults: Array<{
    assertionResults: Array<{ fullName: string; status: string }>;
  }>;
}

/**
 * A copy of the repository's files as they are, in which code can be broken without
 * harm. The packages that are installed are those of the repository.
 */
export class Workspace {
  readonly #folder: string;

  static create(): Workspace {
    const folder = realpathSync(
      mkdtempSync(join(tmpdir(), 'mutation-checks-')),
    );
    cpSync(REPOSITORY, folder, {
      recursive: true,
      filter: path => !NOT_COPIED.includes(basename(path)),
    });
    linkInstalled('', folder);
    for (const path of workspacePackages()) {
      if (existsSync(join(REPOSITORY, path, MODULES))) {
        linkInstalled(path, folder);
      }
    }
    return new Workspace(folder);
  }

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * Runs the tests of a check with its guarantee removed, up to the first file or
   * folder that notices.
   *
   * @throws if the code to break is not where it should be
   */
  testWithout({ edits, tests }: MutationCheck): TestRun {
    const originals = edits.map(edit => this.#apply(edit));
    try {
      let run = this.#test(tests[0]);
      for (const path of tests.slice(1)) {
        if (isNoticed(run)) {
          break;
        }
        run = this.#test(path);
      }
      return run;
    } finally {
      // Backwards, for a file may have been changed twice.
      originals.reverse().forEach(restore => restore());
    }
  }

  /** Returns what undoes it. */
  #apply({ file, find, replace }: Edit): () => void {
    const path = join(this.#folder, file);
    const original = readFileSync(path, 'utf8');
    const places = original.split(find).length - 1;
    if (places !== 1) {
      throw new Error(`${file} holds "${find}" ${places} times, expected once`);
    }
    writeFileSync(
      path,
      original.replace(find, () => replace),
    );
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
        env: { ...process.env, CI: 'true', TEST_DEADLINE_MS: '60000' },
        encoding: 'utf8',
        maxBuffer: 256 * 1024 * 1024,
      },
    );
    try {
      return summarize(JSON.parse(readFileSync(report, 'utf8')));
    } catch {
      throw new Error(`The tests wrote no report:\n${stderr.slice(-2000)}`);
    }
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

/**
 * Links what is installed for a package to the same package of a copy. Links to packages
 * of the repository lead to those of the copy.
 */
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

function summarize(report: JestReport): TestRun {
  const names = report.testResults
    .flatMap(file => file.assertionResults)
    .filter(test => test.status === 'failed')
    .map(test => test.fullName);
  return {
    failed: report.numFailedTests,
    total: report.numTotalTests,
    broken: report.numRuntimeErrorTestSuites,
    names: names.slice(0, 3),
  };
}
