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
    return new Proxy({} as MockupStore, {
      get: (_target, name) =>
        // A store that is awaited is no promise.
        name === 'then'
          ? undefined
          : async (...args: unknown[]) => {
              const store = await opened();
              return Reflect.apply(Reflect.get(store, name), store, args);
            },
    });
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
