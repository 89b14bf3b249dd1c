import type {
  BackendFeature,
  LoggerService,
} from '@backstage/backend-plugin-api';
import type { JsonObject } from '@backstage/types';
import type { ActiveTenant } from 'backstage-plugin-catalog-tenancy-node';

/** The limits of an instance of one tenant. */
export interface InstanceContext {
  /** Whether the operator has listed the host of a URL. */
  isListed: (url: URL) => boolean;
  logger: LoggerService;
}

/** The settings by which each tenant can have an instance of a plugin. */
export interface KnownPlugin {
  id: string;

  /** The package of the plugin, and of modules of it that were tried too. */
  packages?: readonly string[];

  /**
   * When an instance runs without requests. With `none` it never does; with a table in its
   * schema, while that has such rows; with `after changes`, until its scheduled tasks have run
   * since the engine of its tenant went to sleep, and once a day. By default an instance that was
   * used once always runs. It does so in the process with the lease of its tenant.
   */
  background?: 'none' | 'after changes' | { table: string; where: string };

  /**
   * Paths at which browsers have a cookie and no header, such as those of images. The tenant may
   * be in the address then: `/.tenant/<slug><path>`.
   */
  cookiePaths?: readonly string[];

  /** Paths of requests without credentials, which the plugin verifies by itself. */
  publicPaths?: readonly string[];

  /** Keys of the backend's configuration that its instances inherit beside those of engines. */
  inherits?: readonly string[];

  /**
   * Adds the configuration that an instance must not share with others, if it is missing.
   *
   * @param instance - what the instance has, with `tenancy.plugins.config`
   * @param backend - what the plugin of the backend itself has
   * @param hosts - those that the operator has listed, as `backend.reading.allow` has them
   * @throws Error that names the key to set
   */
  adapt?: (
    instance: JsonObject,
    backend: JsonObject,
    tenant: ActiveTenant,
    hosts: readonly string[],
  ) => JsonObject;

  /** Features in an instance beside the plugin and its modules. */
  features?: (context: InstanceContext) => BackendFeature[];

  /** Prepares the places that the configuration names, before each start of an instance. */
  prepare?: (instance: JsonObject) => Promise<void>;

  /**
   * Where an instance with this configuration keeps data outside of its database, from the
   * widest part of the place to the narrowest. No place may be within another one's.
   */
  storageOf?: (config: JsonObject) => string[];

  /** A key that tenants may not configure themselves, such as the one that names the place. */
  operatorKey?: string;
}

/** Whether neither place is within the other. */
export function areApart(one: string[], other: string[]): boolean {
  return one
    .slice(0, other.length)
    .some((part, index) => part !== other[index]);
}
