import type { BackstageCredentials } from '@backstage/backend-plugin-api';
import type { RequestHandler } from 'express';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ActiveTenant } from '../tenants/TenantDirectory';

/**
 * Handles a WebSocket upgrade, like the handlers of Backstage's
 * `httpRouter.addWebSocketHandler`.
 *
 * @public
 */
export type TenantUpgradeHandler = (context: {
  request: IncomingMessage;
  socket: Duplex;
  head: Buffer;
  credentials: BackstageCredentials;
  authProtocol?: string;
}) => void | Promise<void>;

/**
 * Plugins with an instance for each tenant, which has separate tables, tasks and calls. The
 * default tenant uses the plugin of the backend itself.
 *
 * @public
 */
export interface TenantPlugins {
  /** The ids of these plugins. They do not change while the backend runs. */
  readonly pluginIds: readonly string[];

  /**
   * The handler of requests to a plugin by tenants other than the default one, which the
   * instance of their tenant answers. The requests have passed the gate; none reaches the
   * routes of the default tenant's plugin.
   *
   * @returns undefined for a plugin that is not in {@link TenantPlugins.pluginIds}
   */
  handlerOf(pluginId: string): RequestHandler | undefined;

  /**
   * Whether a plugin's instances accept requests without credentials at a path, such as
   * webhooks that they verify themselves.
   */
  isPublic(pluginId: string, path: string): boolean;

  /**
   * Finds the upgrade handler of a tenant's instance, by the path below the plugin's. It
   * rejects with an error for the client if there is none.
   *
   * @returns undefined for a plugin that is not in {@link TenantPlugins.pluginIds}
   */
  upgradesOf(
    pluginId: string,
  ):
    | ((tenant: ActiveTenant, path: string) => Promise<TenantUpgradeHandler>)
    | undefined;
}

/** The service in a backend without the package that provides instances. */
export const NO_TENANT_PLUGINS: TenantPlugins = {
  pluginIds: [],
  handlerOf: () => undefined,
  isPublic: () => false,
  upgradesOf: () => undefined,
};
