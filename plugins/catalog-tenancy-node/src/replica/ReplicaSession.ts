import type { BuildStatement, QuerySettings, TenancyPool } from '../pool';

/** The replica is gone, or is none any more: the primary has the answer. */
export class ReplicaLostError extends Error {}

/** The connections to the replica, for as long as it is known to be one. */
export class ReplicaSession {
  readonly #pool: TenancyPool;
  readonly #waiting = new Set<() => void>();

  constructor(pool: TenancyPool) {
    this.#pool = pool;
  }

  /**
   * @throws {@link ReplicaLostError} once it is lost, for a server that vanished may
   * never answer; and like the query of the pool
   */
  query<TRow extends object>(
    build: BuildStatement,
    settings: QuerySettings,
  ): Promise<TRow[]> {
    return new Promise((resolve, reject) => {
      const giveUp = () => reject(new ReplicaLostError('The replica is lost'));
      this.#waiting.add(giveUp);
      this.#pool
        .query<TRow>(build, settings)
        .then(resolve, reject)
        .finally(() => this.#waiting.delete(giveUp));
    });
  }

  /** Has nobody wait any longer, and closes the connections as they become free. */
  async lose(): Promise<void> {
    this.#waiting.forEach(giveUp => giveUp());
    await this.#pool.close();
  }
}
