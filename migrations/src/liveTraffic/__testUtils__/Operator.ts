import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';

const MAIN = path.resolve(__dirname, '../../cli/index.ts');
const TRANSFORM = require.resolve('@backstage/cli/config/nodeTransform.cjs');

/** What became of a command. */
export interface Finished {
  /** `null` if it was killed. */
  exitCode: number | null;
  /** Its log, for when a test fails. */
  log: string;
}

/** A command at work. */
export class Command {
  readonly finished: Promise<Finished>;
  /** What it has printed so far. */
  log = '';

  constructor(private readonly child: ChildProcess) {
    for (const stream of [child.stdout!, child.stderr!]) {
      stream.on('data', data => {
        this.log += data;
      });
    }
    this.finished = once(child, 'close').then(([exitCode]) => ({
      exitCode,
      log: this.log,
    }));
  }

  /**
   * As `kill -9` does: it has no chance to put anything in order.
   *
   * @returns whether it was still at work
   */
  kill(): boolean {
    return this.child.exitCode === null && this.child.kill('SIGKILL');
  }
}

/** An operator who runs the commands of the migration, as processes. */
export class Operator {
  constructor(private readonly url: () => string) {}

  /** Starts a command such as `['phase1']`. */
  begin(args: string[]): Command {
    return new Command(
      spawn(process.execPath, ['--require', TRANSFORM, MAIN, ...args], {
        env: { ...process.env, MIGRATION_DATABASE_URL: this.url() },
        // Longer than any command takes at the largest sizes.
        timeout: 30 * 60_000,
        killSignal: 'SIGKILL',
        stdio: ['ignore', 'pipe', 'pipe'],
      }),
    );
  }

  /** Runs a command, which must succeed. */
  async run(args: string[]): Promise<void> {
    const { exitCode, log } = await this.begin(args).finished;
    if (exitCode !== 0) {
      throw new Error(`${args.join(' ')} ended with ${exitCode}:\n${log}`);
    }
  }
}
