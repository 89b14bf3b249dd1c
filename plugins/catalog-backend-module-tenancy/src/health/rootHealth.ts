import {
  coreServices,
  createServiceFactory,
  type RootHealthService,
  type RootLifecycleService,
} from '@backstage/backend-plugin-api';
import type { JsonObject } from '@backstage/types';
import {
  type TenancyHealth,
  tenancyHealthServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';

type Answer = Awaited<ReturnType<RootHealthService['getReadiness']>>;

/**
 * Backstage's health service, extended: a process that cannot serve tenants is not ready, and
 * says why. Failing engines are reported but do not affect readiness.
 */
class TenancyRootHealth implements RootHealthService {
  #state: 'starting' | 'up' | 'stopping' = 'starting';

  constructor(
    private readonly tenancy: Pick<TenancyHealth, 'readiness'>,
    lifecycle: RootLifecycleService,
  ) {
    lifecycle.addStartupHook(() => {
      this.#state = 'up';
    });
    lifecycle.addBeforeShutdownHook(() => {
      this.#state = 'stopping';
    });
  }

  async getLiveness(): Promise<Answer> {
    return { status: 200, payload: { status: 'ok' } };
  }

  async getReadiness(): Promise<Answer> {
    if (this.#state === 'stopping') {
      return unready({ reason: 'stopping', message: 'Backend is stopping' });
    }
    const payload = await this.tenancy.readiness();
    if (payload.status === 'error') {
      return unready(payload);
    }
    return this.#state === 'up'
      ? { status: 200, payload }
      : unready({
          reason: 'starting',
          message: 'Backend has not started yet',
        });
  }
}

function unready(payload: JsonObject): Answer {
  return { status: 503, payload: { ...payload, status: 'error' } };
}

export const rootHealthServiceFactory = createServiceFactory({
  service: coreServices.rootHealth,
  deps: {
    lifecycle: coreServices.rootLifecycle,
    tenancy: tenancyHealthServiceRef,
  },
  factory: ({ lifecycle, tenancy }) =>
    new TenancyRootHealth(tenancy, lifecycle),
});
