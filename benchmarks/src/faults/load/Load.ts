import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'undici';
import type { Size } from '../sizes';
import { Caller, RETRY_MS } from './Caller';
import type { Client } from './clients';
import { EntityReader, slugOf } from './EntityReader';
import { EntityWriter } from './EntityWriter';
import { type Recovery, Tally } from './Tally';
import { TenantCreator } from './TenantCreator';

/** Clients that ask a backend without an end. */
export class Load {
  readonly tally: Tally;

  readonly #http: Pool;
  readonly #running: Promise<unknown>;
  #stopped = false;

  /** @param name - tells what it writes from what others do, and is part of a slug */
  static start(url: string, size: Size, name: string): Load {
    return new Load(url, createClients(size, name));
  }

  private constructor(url: string, clients: Client[]) {
    this.tally = new Tally(clients.length);
    this.#http = new Pool(url, { connections: clients.length, pipelining: 1 });
    this.#running = Promise.all(
      clients.map((client, id) =>
        this.#run(client, new Caller(this.#http, id, this.tally)),
      ),
    );
  }

  /** Watches how clients are answered from now on. */
  watchRecovery(): Recovery {
    return this.tally.watchRecovery();
  }

  /** Waits for what is under way. */
  async stop(): Promise<Tally> {
    this.tally.close();
    this.#stopped = true;
    await this.#running;
    await this.#http.close();
    return this.tally;
  }

  async #run(client: Client, caller: Caller): Promise<void> {
    while (!this.#stopped) {
      try {
        await client.step(caller);
      } catch (error) {
        this.tally.countFailure(`${client.constructor.name}: ${String(error)}`);
        await delay(RETRY_MS);
      }
    }
  }
}

function createClients(size: Size, name: string): Client[] {
  return [
    ...Array.from(
      { length: size.readers },
      (_, index) => new EntityReader(size, index),
    ),
    ...Array.from(
      { length: size.writers },
      (_, index) =>
        new EntityWriter(slugOf(index % size.tenants), `${name}-${index}`),
    ),
    new TenantCreator(name),
  ];
}
