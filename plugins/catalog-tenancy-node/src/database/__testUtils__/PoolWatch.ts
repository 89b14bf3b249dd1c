import { Pool } from 'pg';
import type { PoolClient } from 'pg';

/** What a connection was given back with, as PostgreSQL has it. */
export interface GivenBack {
  status: string | null;
  tenant: string | null;
  role: string;
}

interface Emitter {
  emit(event: string, ...values: unknown[]): boolean;
}

/**
 * Asks every connection that is given back to a pool for its state, before anybody
 * else can use it: PostgreSQL answers in the order of questions.
 */
export class PoolWatch {
  readonly givenBack: GivenBack[] = [];
  closed = 0;

  readonly #pools: Emitter = Pool.prototype;
  readonly #questions = new Set<Promise<void>>();

  static start(): PoolWatch {
    return new PoolWatch();
  }

  private constructor() {
    const release = this.#release.bind(this);
    this.#pools.emit = function emit(this: Emitter, event, ...values) {
      if (event === 'release') {
        release(values[1] as PoolClient, values[0]);
      }
      return Object.getPrototypeOf(Pool.prototype).emit.call(
        this,
        event,
        ...values,
      );
    };
  }

  stop(): void {
    Reflect.deleteProperty(this.#pools, 'emit');
  }

  /** Waits for all answers. */
  async answered(): Promise<void> {
    await Promise.all(this.#questions);
  }

  #release(client: PoolClient, closing: unknown): void {
    if (client.user !== 'portal_app') {
      return;
    }
    if (closing) {
      this.closed += 1;
      return;
    }
    const status = client.getTransactionStatus();
    const question = client
      .query(
        `select current_setting('app.tenant_id', true) as tenant,
                current_setting('role') as role`,
      )
      .then(
        ({ rows: [{ tenant, role }] }) => {
          this.givenBack.push({ status, tenant, role });
        },
        // Lost meanwhile: it can't be used again.
        () => undefined,
      );
    this.#questions.add(question);
    question.then(() => this.#questions.delete(question));
  }
}
