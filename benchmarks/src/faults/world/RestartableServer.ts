import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Postgres } from '@internal/postgres';

/**
 * A PostgreSQL server that can be stopped, and comes back on the same port with the same
 * data. Unlike those of other benchmarks, it waits for the disk: what was answered has
 * to survive.
 */
export class RestartableServer {
  readonly #folder: string;
  #postgres: Postgres;

  static async start(): Promise<RestartableServer> {
    const folder = await mkdtemp(join(tmpdir(), 'benchmark-faults-'));
    try {
      return new RestartableServer(folder, await startIn(folder));
    } catch (error) {
      await rm(folder, { recursive: true });
      throw error;
    }
  }

  private constructor(folder: string, postgres: Postgres) {
    this.#folder = folder;
    this.#postgres = postgres;
  }

  get postgres(): Postgres {
    return this.#postgres;
  }

  /** Stops it at once, as a crash does: nothing under way is waited for. */
  async crash(): Promise<void> {
    process.kill(this.#postgres.pid, 'SIGQUIT');
    await this.#postgres.exited;
  }

  /** Starts it again, and waits until it accepts connections. */
  async restart(): Promise<void> {
    const { port } = this.#postgres.connection;
    this.#postgres = await startIn(this.#folder, port);
  }

  async close(): Promise<void> {
    await this.#postgres.stop();
    await rm(this.#folder, { recursive: true });
  }
}

async function startIn(folder: string, port?: number): Promise<Postgres> {
  return await Postgres.start({ dataDirectory: join(folder, 'server'), port });
}
