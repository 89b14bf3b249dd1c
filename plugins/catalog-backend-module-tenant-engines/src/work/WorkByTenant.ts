import type { ActiveTenant } from 'backstage-plugin-catalog-tenancy-node';
import type { TenantLeases } from '../leases/ProcessLeases';
import { BackgroundWork, type FINISH_TIMING } from './BackgroundWork';

/**
 * The background work of each tenant, which all its nested plugins share: open in the process
 * that holds the lease of the tenant, unless an operator has paused it.
 */
export class WorkByTenant {
  readonly #leases: TenantLeases;
  readonly #timing?: typeof FINISH_TIMING;
  /** As long as an engine or an instance has it: tenants come and go. */
  readonly #works = new Map<string, WeakRef<BackgroundWork>>();
  readonly #unused = new FinalizationRegistry<string>(tenantId => {
    if (!this.#find(tenantId)) {
      this.#works.delete(tenantId);
    }
  });
  readonly #paused = new Set<string>();
  /** Those whose lease this process still holds, and is about to give up. */
  readonly #leaving = new Set<string>();

  constructor(options: {
    leases: TenantLeases;
    timing?: typeof FINISH_TIMING;
  }) {
    this.#leases = options.leases;
    this.#timing = options.timing;
    this.#leases.onChange(() => {
      for (const tenantId of this.#leaving) {
        if (!this.#leases.isHeld(tenantId)) {
          this.#leaving.delete(tenantId);
        }
      }
      for (const tenantId of this.#works.keys()) {
        this.#apply(tenantId);
      }
    });
    this.#leases.beforeRelease(tenantId => {
      this.#leaving.add(tenantId);
      return this.finish(tenantId);
    });
  }

  /** Waits for running work to end; see {@link BackgroundWork.finish}. */
  async finish(tenantId: string): Promise<void> {
    await this.#find(tenantId)?.finish();
  }

  /** Returns the same object for each call with the same tenant, while that is in use. */
  of({ tenantId, tenantSlug }: ActiveTenant): BackgroundWork {
    let work = this.#find(tenantId);
    if (!work) {
      work = new BackgroundWork({
        tenantSlug,
        holdsLease: () => this.#leases.isHeld(tenantId),
        timing: this.#timing,
      });
      this.#works.set(tenantId, new WeakRef(work));
      this.#unused.register(work, tenantId);
      this.#apply(tenantId);
    }
    return work;
  }

  /** Waits for running work to end, and begins none until {@link WorkByTenant.resume}. */
  async pause(tenantId: string): Promise<void> {
    this.#paused.add(tenantId);
    await this.finish(tenantId);
  }

  /** Ends a pause. */
  resume(tenantId: string): void {
    this.#paused.delete(tenantId);
    this.#apply(tenantId);
  }

  #find(tenantId: string): BackgroundWork | undefined {
    return this.#works.get(tenantId)?.deref();
  }

  #apply(tenantId: string): void {
    const work = this.#find(tenantId);
    if (!this.#leases.isHeld(tenantId)) {
      work?.close();
    } else if (!this.#paused.has(tenantId) && !this.#leaving.has(tenantId)) {
      work?.open();
    }
  }
}
