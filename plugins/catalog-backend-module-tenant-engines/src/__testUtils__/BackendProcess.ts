import { waitUntil } from '@internal/postgres/testUtils';
import type { JsonObject } from '@backstage/types';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';

const TRANSFORM = require.resolve('@backstage/cli/config/nodeTransform.cjs');
const MAIN = resolve(__dirname, 'engineBackend.ts');

/** A backend with engines, in a process of its own. */
export class BackendProcess {
  readonly #child: ChildProcess;
  readonly #closed: Promise<unknown>;
  #log = '';

  constructor(config: JsonObject) {
    this.#child = spawn(process.execPath, ['--require', TRANSFORM, MAIN], {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: {
        ...process.env,
        NODE_ENV: 'development',
        BACKEND_CONFIG: JSON.stringify(config),
      },
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.on('data', data => {
        this.#log += data;
      });
    }
    this.#closed = once(this.#child, 'close');
  }

  /** Waits for something to see; a backend that has ended will never show it. */
  async until<T>(what: string, look: () => Promise<T>) {
    return waitUntil(what, async () => {
      this.throwIfEnded();
      return look();
    }).catch(error => {
      throw new Error(`${error.message}; the backend's log:\n${this.#log}`, {
        cause: error,
      });
    });
  }

  throwIfEnded(): void {
    if (this.#hasEnded()) {
      throw new Error(`The backend has ended:\n${this.#log}`);
    }
  }

  get pid(): number {
    return this.#child.pid!;
  }

  /** What it has printed so far. */
  get log(): string {
    return this.#log;
  }

  /** Nothing of it runs, and its connections stay open. */
  pause(): void {
    this.#child.kill('SIGSTOP');
  }

  resume(): void {
    this.#child.kill('SIGCONT');
  }

  /** As `kill -9` does. */
  async kill(): Promise<void> {
    if (!this.#hasEnded()) {
      this.#child.kill('SIGKILL');
    }
    await this.#closed;
  }

  #hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }
}
