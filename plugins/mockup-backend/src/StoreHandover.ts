import type { MockupStore, MockupStores } from 'backstage-plugin-mockup-node';

// Includes the time of migrations. Bounded, because a plugin that awaits a call in its init
// would otherwise prevent the backend from reporting this plugin's error.
const PATIENCE_MS = 60_000;

/**
 * Provides the plugin's stores to other plugins, which may call them before this plugin has
 * opened them.
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
    // If opening fails, the plugin itself reports the error.
    this.#opened.catch(() => {});
  }

  /** Opens the stores. Call it once; waiting calls then proceed. */
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

  /** Stores whose operations wait until {@link StoreHandover.open} has opened the real ones. */
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
