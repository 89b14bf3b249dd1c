import { ChildProcess, spawn } from 'child_process';
import { once } from 'events';
import { setTimeout as delay } from 'timers/promises';
import { answersOk } from './health';

const STOP_PATIENCE_MS = 15_000;

// The backend logs every request, so that asking often would bury its log.
const POLL_MS = 500;

/** The backend, running as a child of this process. */
export class BackendProcess {
  /** Resolves with the exit code once the backend has ended. */
  readonly exited: Promise<number>;

  readonly #child: ChildProcess;

  static start(options: {
    args: string[];
    folder: string;
    env: Record<string, string>;
  }): BackendProcess {
    const child = spawn(
      process.execPath,
      [
        ...['--require', require.resolve('./exitWithParent.cjs')],
        ...[
          '--require',
          require.resolve('@backstage/cli/config/nodeTransform.cjs'),
        ],
        require.resolve('./portal.ts'),
        ...options.args,
      ],
      {
        cwd: options.folder,
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
        // Ctrl-C would otherwise reach the backend too, at the same time.
        detached: true,
        // The guest may sign in during development only.
        env: { ...process.env, ...options.env, NODE_ENV: 'development' },
      },
    );
    return new BackendProcess(child);
  }

  private constructor(child: ChildProcess) {
    this.#child = child;
    // Without a code it was killed, which is no success.
    this.exited = once(child, 'exit').then(([code]) => code ?? 1);
  }

  /** Waits for the backend; false if it ends before it is ready to serve. */
  async untilReady(url: string): Promise<boolean> {
    while (this.#isRunning()) {
      if (await answersOk(url)) {
        return true;
      }
      await delay(POLL_MS);
    }
    return false;
  }

  async stop(): Promise<void> {
    if (this.#isRunning()) {
      this.#child.kill('SIGTERM');
      const overdue = setTimeout(
        () => this.#child.kill('SIGKILL'),
        STOP_PATIENCE_MS,
      );
      await this.exited;
      clearTimeout(overdue);
    }
  }

  #isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }
}
