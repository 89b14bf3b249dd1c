import { execFileSync, spawnSync } from 'child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'fs';
import { tmpdir } from 'os';
import { join } from 'path';
import type { Edit, MutationCheck } from './MutationCheck';

const REPOSITORY = join(__dirname, '..', '..', '..', '..');
const YARN = '@yarnpkg/cli-dist@4.18.1';

/** How many tests of a run failed, and how many there were. */
export interface TestRun {
  failed: number;
  total: number;
  /** Files that did not run at all, such as for an error of syntax. */
  broken: number;
  /** The names of the first tests that failed. */
  names: string[];
}

interface JestReport {
  numFailedTests: number;
  numTotalTests: number;
  numRuntimeErrorTestSuites: number;
  testResults: Array<{
    assertionResults: Array<{ fullName: string; status: string }>;
  }>;
}

/** A clone of the last commit, in which code can be broken without harm. */
export class Workspace {
  readonly #folder: string;

  static create(): Workspace {
    const folder = mkdtempSync(join(tmpdir(), 'mutation-checks-'));
    execFileSync('git', ['clone', '--quiet', REPOSITORY, folder]);
    execFileSync('npx', ['--yes', YARN, 'install', '--immutable'], {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    return new Workspace(folder);
  }

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * Runs the tests of a check with its guarantee removed.
   *
   * @throws if the code to break is not where it should be
   */
  testWithout({ edits, tests }: MutationCheck): TestRun {
    const originals = edits.map(edit => this.#apply(edit));
    try {
      return this.#test(tests);
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

  #test(tests: string[]): TestRun {
    const report = join(this.#folder, 'mutation-checks-report.json');
    rmSync(report, { force: true });
    const { stderr } = spawnSync(
      'npx',
      [
        ...['backstage-cli', 'repo', 'test', '--watchAll=false', ...tests],
        ...['--json', `--outputFile=${report}`],
      ],
      {
        cwd: this.#folder,
        env: { ...process.env, CI: 'true' },
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
