import type { TenancyPool } from '../pool/TenancyPool';
import {
  type ChangeListener,
  notifyStatement,
} from '../tenants/ChangeListener';
import { listEngines } from './records';
import type {
  TenantEngineChanges,
  TenantEngineRecord,
} from './TenantEngineStore';

/** How often listeners are called though nothing was heard. */
export const ENGINES_TIMING = {
  /** While the process hears of changes: for those by hand. */
  hearingMs: 60_000,
  deafMs: 5_000,
};

/** {@link TenantEngineChanges} by the notifications of the registry. */
export class ListeningTenantEngines implements TenantEngineChanges {
  readonly #pool: Pick<TenancyPool, 'query' | 'schema'>;
  readonly #listener: ChangeListener;
  readonly #timing: typeof ENGINES_TIMING;
  readonly #listeners = new Set<() => void>();
  readonly #workListeners = new Set<(tenantId: string) => void>();
  #timer?: NodeJS.Timeout;

  constructor(options: {
    pool: Pick<TenancyPool, 'query' | 'schema'>;
    listener: ChangeListener;
    timing?: typeof ENGINES_TIMING;
  }) {
    this.#pool = options.pool;
    this.#listener = options.listener;
    this.#timing = options.timing ?? ENGINES_TIMING;
    this.#listener.subscribe({
      onChange: change => {
        if ('tenantSlug' in change || 'engineOf' in change) {
          this.changed();
        } else if ('workOf' in change) {
          this.#workListeners.forEach(each => each(change.workOf));
        }
      },
      // Changes may have passed unheard before it begins to hear.
      onHearing: () => this.changed(),
    });
  }

  /** {@inheritDoc TenantEngineChanges.list} */
  list(): Promise<TenantEngineRecord[]> {
    return listEngines(this.#pool);
  }

  /** {@inheritDoc TenantEngineChanges.onChange} */
  onChange(listener: () => void): () => void {
    // The same function may listen twice.
    const own = () => listener();
    this.#listeners.add(own);
    this.#listener.start();
    this.#callLater();
    return () => {
      this.#listeners.delete(own);
      if (this.#listeners.size === 0) {
        clearTimeout(this.#timer);
      }
    };
  }

  /** {@inheritDoc TenantEngineChanges.changed} */
  changed(): void {
    this.#callLater();
    this.#listeners.forEach(each => each());
  }

  /** {@inheritDoc TenantEngineChanges.hears} */
  get hears(): boolean {
    return this.#listener.hears;
  }

  /** {@inheritDoc TenantEngineChanges.notifyWork} */
  async notifyWork(tenantId: string): Promise<void> {
    const { schema } = this.#pool;
    await this.#pool.query(knex =>
      notifyStatement(knex, schema, { workOf: tenantId }),
    );
  }

  /** {@inheritDoc TenantEngineChanges.onWork} */
  onWork(listener: (tenantId: string) => void): () => void {
    const own = (tenantId: string) => listener(tenantId);
    this.#workListeners.add(own);
    this.#listener.start();
    return () => this.#workListeners.delete(own);
  }

  #callLater(): void {
    clearTimeout(this.#timer);
    if (this.#listeners.size > 0) {
      const { hearingMs, deafMs } = this.#timing;
      this.#timer = setTimeout(
        () => this.changed(),
        this.#listener.hears ? hearingMs : deafMs,
      ).unref();
    }
  }
}
