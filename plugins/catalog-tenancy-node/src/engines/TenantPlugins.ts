import type { RequestHandler } from 'express';

/**
 * Plugins of which each tenant has an instance, with tables, tasks and calls that are the
 * tenant's. The default tenant's is the plugin of the backend itself.
 *
 * @public
 */
export interface TenantPlugins {
  /** The ids of these plugins. They do not change while the backend runs. */
  readonly pluginIds: readonly string[];

  /**
   * Answers the requests of tenants other than the default one to a plugin, with the instance
   * of their tenant. The requests have passed the gate; none of them goes on to the routes of
   * the default tenant's plugin.
   *
   * @returns nothing for a plugin that is not among {@link TenantPlugins.pluginIds}
   */
  handlerOf(pluginId: string): RequestHandler | undefined;
}

/** What a backend has without the package that provides instances. */
export const NO_TENANT_PLUGINS: TenantPlugins = {
  pluginIds: [],
  handlerOf: () => undefined,
};
