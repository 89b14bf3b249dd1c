import type { MockupStore, MockupStores } from 'backstage-plugin-mockup-node';

// Migrations included. A plugin that awaits a call in its own init would keep the
// whole backend from reporting what is wrong with this one.
const PATIENCE_MS = 60_000;

/**
 * Hands the plugin's stores to the other plugins of the backend, which may hold and
 * call them before the plugin has opened them.
 */
export class StoreHandover {
  readonly #opened: Promise<MockupStores>;
  #resolve: (stores: MockupStores) => void = () => {};
  #reject: (error: unknown) => void = () => {};

  constructor() {
    this.#opened = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // If opening fails while no call waits, the plugin itself reports it.
    this.#opened.catch(() => {});
  }

  /** Opens the stores, once, and lets calls through from then on. */
  async open<TStores extends MockupStores>(
    create: () => Promise<TStores>,
  ): Promise<TStores> {
    try {
      const stores = await create();
      this.#resolve(stores);
      return stores;
    } catch (error) {
      this.#reject(error);
      throw error;
    }
  }

  /** Stores whose operations wait until the real ones are open. */
  readonly stores: MockupStores = {
    forTenant: tenantId => this.#waiting(stores => stores.forTenant(tenantId)),
    forDefaultTenant: () => this.#waiting(stores => stores.forDefaultTenant()),
  };

  #waiting(choose: (stores: MockupStores) => MockupStore): MockupStore {
    const opened = async () => choose(await this.#untilOpen());
    return {
      list: async (...args) => (await opened()).list(...args),
      get: async (...args) => (await opened()).get(...args),
      create: async (...args) => (await opened()).create(...args),
      duplicate: async (...args) => (await opened()).duplicate(...args),
      update: async (...args) => (await opened()).update(...args),
      share: async (...args) => (await opened()).share(...args),
      delete: async (...args) => (await opened()).delete(...args),
      listTrash: async (...args) => (await opened()).listTrash(...args),
      restore: async (...args) => (await opened()).restore(...args),
      purge: async (...args) => (await opened()).purge(...args),
      saveVersion: async (...args) => (await opened()).saveVersion(...args),
      restoreVersion: async (...args) =>
        (await opened()).restoreVersion(...args),
      updateVersion: async (...args) => (await opened()).updateVersion(...args),
      listVersions: async (...args) => (await opened()).listVersions(...args),
      getVersion: async (...args) => (await opened()).getVersion(...args),
      getLatestVersion: async (...args) =>
        (await opened()).getLatestVersion(...args),
      compareVersions: async (...args) =>
        (await opened()).compareVersions(...args),
      importMockups: async (...args) => (await opened()).importMockups(...args),
    };
  }

  async #untilOpen(): Promise<MockupStores> {
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
