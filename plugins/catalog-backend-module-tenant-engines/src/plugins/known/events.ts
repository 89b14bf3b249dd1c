import type { JsonObject } from '@backstage/types';
import type { KnownPlugin } from './KnownPlugin';

/** Webhooks of a tenant, which modules verify by a secret of the tenant. */
export const events: KnownPlugin = {
  id: 'events',
  packages: ['@backstage/plugin-events-backend'],
  background: 'none',
  publicPaths: ['/http'],

  adapt(instance) {
    if ((instance.events as JsonObject | undefined)?.http !== undefined) {
      throw new Error(
        `Tenants can't have topics of events.http: nothing verifies who sends their events. Use a module that checks a signature`,
      );
    }
    return instance;
  },
};
