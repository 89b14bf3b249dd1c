import { APPLICATION } from '@internal/catalog-testing/tenancyDatabase';
import { waitUntil, type WaitOptions } from '@internal/postgres/testUtils';
import type { JsonObject } from '@backstage/types';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import type { ClientConfig } from 'pg';
import type { ShareCommand } from './shareCommands';

const TRANSFORM = require.resolve('@backstage/cli/config/nodeTransform.cjs');
const MAIN = resolve(__dirname, 'engineBackend.ts');

/** The token of a service that may call the backend. */
export const CALLER_TOKEN = 'token-of-the-caller';

interface StartOptions {
  baseUrl: string;
  /** To the database of the tenants, which is that of the catalog. */
  connection: ClientConfig;
  /** The host that engines may read from. */
  source?: string;
  /** What else `tenancy` has. */
  tenancy?: JsonObject;
  /** What else the configuration has. */
  config?: JsonObject;
}

/** A backend with engines, in a process of its own. */
export class BackendProcess {
  readonly #child: ChildProcess;
  readonly #closed: Promise<unknown>;
  #log = '';

  static start({
    baseUrl,
    connection: { host, port, user, password, database },
    source,
    tenancy,
    config,
  }: StartOptions): BackendProcess {
    return new BackendProcess({
      ...config,
      app: { baseUrl },
      backend: {
        baseUrl,
        listen: { host: '127.0.0.1', port: Number(new URL(baseUrl).port) },
        auth: {
          externalAccess: [
            {
              type: 'static',
              options: { token: CALLER_TOKEN, subject: 'caller' },
            },
          ],
        },
        reading: { allow: source ? [{ host: source }] : [] },
        database: {
          client: 'pg',
          connection: {
            host: String(host),
            port: Number(port),
            user: String(user),
            password: String(password),
          },
          plugin: { catalog: { connection: { database: String(database) } } },
        },
      },
      tenancy: {
        enabled: true,
        membership: 'open',
        database: { connection: APPLICATION, pool: { max: 5 } },
        ...tenancy,
      },
    });
  }

  private constructor(config: JsonObject) {
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
  async until<T>(what: string, look: () => Promise<T>, options?: WaitOptions) {
    const lookWhileItRuns = async () => {
      this.throwIfEnded();
      return look();
    };
    return waitUntil(what, lookWhileItRuns, options).catch(error => {
      throw new Error(`${error.message}; the backend's log:\n${this.#log}`, {
        cause: error,
      });
    });
  }

  throwIfEnded(): void {
    if (this.hasEnded) {
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

  /** Of those whose configuration has `shareCommands`. */
  send(command: ShareCommand): void {
    this.#child.send(command);
  }

  /** Nothing of it runs, and its connections stay open. */
  pause(): void {
    this.#child.kill('SIGSTOP');
  }

  resume(): void {
    this.#child.kill('SIGCONT');
  }

  /** Resolves once it has ended. */
  get closed(): Promise<unknown> {
    return this.#closed;
  }

  /** As an orchestrator does. */
  async stop(): Promise<void> {
    this.#child.kill('SIGTERM');
    await this.#closed;
  }

  /** As `kill -9` does. */
  async kill(): Promise<void> {
    if (!this.hasEnded) {
      this.#child.kill('SIGKILL');
    }
    await this.#closed;
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }
}
