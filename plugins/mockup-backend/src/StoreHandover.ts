import type { MockupStore } from 'backstage-plugin-mockup-node';

/**
 * Takes the store of the plugin to the other plugins of the backend, which may
 * hold and call it before the plugin has opened it.
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
    // Where opening fails and nobody waits, the plugin itself reports it.
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
    list: async (...args) => (await this.#opened).list(...args),
    get: async (...args) => (await this.#opened).get(...args),
    create: async (...args) => (await this.#opened).create(...args),
    update: async (...args) => (await this.#opened).update(...args),
    delete: async (...args) => (await this.#opened).delete(...args),
    saveVersion: async (...args) => (await this.#opened).saveVersion(...args),
    listVersions: async (...args) => (await this.#opened).listVersions(...args),
    getVersion: async (...args) => (await this.#opened).getVersion(...args),
    getLatestVersion: async (...args) =>
      (await this.#opened).getLatestVersion(...args),
  };
}
