import type { MockupStore } from 'backstage-plugin-mockup-node';

// Migrations included. A plugin that awaits a call in its own init would keep the
// whole backend from reporting what is wrong with this one.
const PATIENCE_MS = 60_000;

/**
 * Hands the plugin's store to the other plugins of the backend, which may hold and
 * call it before the plugin has opened it.
 */
export class StoreHandover {
  readonly #opened: Promise<MockupStore>;
  #resolve: (store: MockupStore) => void = () => {};
  #reject: (error: unknown) => void = () => {};

  constructor() {
    this.#opened = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // If opening fails while no call waits, the plugin itself reports it.
    this.#opened.catch(() => {});
  }

  /** Opens the store, once, and lets calls through from then on. */
  async open(create: () => Promise<MockupStore>): Promise<MockupStore> {
    try {
      const store = await create();
      this.#resolve(store);
      return store;
    } catch (error) {
      this.#reject(error);
      throw error;
    }
  }

  /** A store whose operations wait until the real one is open. */
  readonly store: MockupStore = {
    list: async (...args) => (await this.#untilOpen()).list(...args),
    get: async (...args) => (await this.#untilOpen()).get(...args),
    create: async (...args) => (await this.#untilOpen()).create(...args),
    update: async (...args) => (await this.#untilOpen()).update(...args),
    delete: async (...args) => (await this.#untilOpen()).delete(...args),
    saveVersion: async (...args) =>
      (await this.#untilOpen()).saveVersion(...args),
    listVersions: async (...args) =>
      (await this.#untilOpen()).listVersions(...args),
    getVersion: async (...args) =>
      (await this.#untilOpen()).getVersion(...args),
    getLatestVersion: async (...args) =>
      (await this.#untilOpen()).getLatestVersion(...args),
  };

  async #untilOpen(): Promise<MockupStore> {
    let timer: NodeJS.Timeout | undefined;
    const overdue = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(
        () => reject(new Error('The mockup plugin has not started')),
        PATIENCE_MS,
      );
    });
    try {
      return await Promise.race([this.#opened, overdue]);
    } finally {
      clearTimeout(timer);
    }
  }
}
