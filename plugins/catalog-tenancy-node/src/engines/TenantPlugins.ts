import type { BackstageCredentials } from '@backstage/backend-plugin-api';
import type { RequestHandler } from 'express';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ActiveTenant } from '../tenants/TenantDirectory';

/**
 * Takes over a connection that a client wants to be a WebSocket, as the handlers of
 * Backstage's `httpRouter.addWebSocketHandler` do.
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

  /**
   * Whether the instances of a plugin answer requests without credentials at a path, such as
   * webhooks, which they verify themselves.
   */
  isPublic(pluginId: string, path: string): boolean;

  /**
   * Finds what takes over a connection, in the instance of its tenant, by the path below that
   * of the plugin. It rejects with an error for the client where there is none.
   *
   * @returns nothing for a plugin that is not among {@link TenantPlugins.pluginIds}
   */
  upgradesOf(
    pluginId: string,
  ):
    | ((tenant: ActiveTenant, path: string) => Promise<TenantUpgradeHandler>)
    | undefined;
}

/** What a backend has without the package that provides instances. */
export const NO_TENANT_PLUGINS: TenantPlugins = {
  pluginIds: [],
  handlerOf: () => undefined,
  isPublic: () => false,
  upgradesOf: () => undefined,
};
