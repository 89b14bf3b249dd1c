import type { PoolClient } from 'pg';
import { Batch } from './Batch';
import type { BatchOutcome, Statement } from './Batch';

/** A connection for as long as one operation has it. */
export class Lease {
  readonly #client: PoolClient;
  #released = false;

  constructor(client: PoolClient) {
    this.#client = client;
  }

  /** Sends statements in one piece. It never rejects. */
  async run(statements: readonly Statement[]): Promise<BatchOutcome> {
    if (this.#released) {
      throw new Error('The connection was given back already');
    }
    const batch = new Batch(
      statements,
      () => this.#client.getTransactionStatus() === 'T',
    );
    return await this.#client.query(batch).outcome;
  }

  /** The server's word is that no transaction is open. */
  get idle(): boolean {
    return this.#client.getTransactionStatus() === 'I';
  }

  /**
   * Gives the connection back. It is closed instead if it is not known to be idle,
   * or if the caller has doubts about it.
   */
  release(options: { inDoubt: boolean }): void {
    this.#released = true;
    this.#client.release(options.inDoubt || !this.idle);
  }
}
