import { createServiceRef } from '@backstage/backend-plugin-api';
import type { MockupStores } from './MockupStore';

/**
 * The stores of the mockup plugin, one for each tenant, for other plugins of the same
 * backend.
 *
 * @remarks
 *
 * It comes with `backstage-plugin-mockup-backend`: a backend that lacks that
 * plugin refuses to start, and names this service as missing. Calls wait until
 * the plugin has migrated its database, and reject if that takes longer than a
 * minute. A module of the mockup plugin itself must therefore not await one in
 * its `init`, which comes before that of its plugin.
 *
 * Another factory for this service replaces it for other plugins only; over HTTP
 * the plugin still serves its own stores.
 *
 * They ask no permissions, and do not ask who is a member of a tenant. To act as a user,
 * call the plugin over HTTP with `MockupClient` of `backstage-plugin-mockup-common`
 * instead.
 *
 * @public
 */
export const mockupStoreServiceRef = createServiceRef<MockupStores>({
  id: 'mockup.store',
  scope: 'root',
});
