import {
  createExternalTokenHandler,
  type ExternalTokenHandler,
  externalTokenHandlersServiceRef,
} from '@backstage/backend-defaults/auth';
import {
  coreServices,
  createServiceFactory,
  type LoggerService,
} from '@backstage/backend-plugin-api';
import type { Config } from '@backstage/config';
import { InputError, ServiceUnavailableError } from '@backstage/errors';
import {
  DEFAULT_TENANT_SLUG,
  isTenantSlug,
  readTenancyConfig,
  type TenancyConfig,
  type TenantDirectory,
  tenantDirectoryServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';
import { once } from 'lodash';
import { TenantTokens } from './TenantTokens';

const TYPE = 'tenant';
const EXTERNAL_ACCESS = 'backend.auth.externalAccess';

const RESTRICTED_ENTRY = `backend:
  auth:
    externalAccess:
      - type: ${TYPE}
        options: {}
        accessRestrictions:
          - plugin: catalog
            permission: [catalog.entity.read]`;

/**
 * Accepts the signed token of an active tenant as credentials of a service with the subject
 * `tenant:<slug>`, if `backend.auth.externalAccess` has an entry of type `tenant` with
 * `accessRestrictions`. The keys are those of `tenancy.jwtSecret`.
 */
export const tenantTokenHandler = createServiceFactory({
  service: externalTokenHandlersServiceRef,
  deps: {
    config: coreServices.rootConfig,
    // Connects on first look-up, so never without an entry.
    directory: tenantDirectoryServiceRef,
    logger: coreServices.rootLogger,
  },
  // Runs once for the backend; the factory runs for every plugin.
  createRootContext({ config, directory, logger }) {
    return createTenantTokenHandler({
      tenancy: readTenancyConfig(config),
      directory,
      logger,
    });
  },
  factory: (_deps, handler) => handler,
});

function createTenantTokenHandler(options: {
  tenancy: TenancyConfig;
  directory: TenantDirectory;
  logger: LoggerService;
}): ExternalTokenHandler<unknown> {
  const { tenancy, directory, logger } = options;
  // Every plugin initializes the handler; `once` avoids repeated warnings.
  const createTokens = once(() =>
    TenantTokens.create({ secrets: tenancy.jwtSecrets, logger }),
  );
  return createExternalTokenHandler<TenantTokens>({
    type: TYPE,

    initialize() {
      if (tenancy.jwtSecrets.length === 0) {
        throw new InputError(
          `Missing configuration value at 'tenancy.jwtSecret', which ${EXTERNAL_ACCESS} of type '${TYPE}' needs: set it, or JWT_SECRET`,
        );
      }
      return createTokens();
    },

    async verifyToken(token, tokens) {
      const verified = tokens.verify(token);
      if (!verified || verified.expired || !isTenantSlug(verified.tenantSlug)) {
        return undefined;
      }
      const { tenantSlug } = verified;
      // With the flag off all requests belong to the default tenant, and tokens of other
      // tenants must not open it, not even after a rollback. The registry may not exist then.
      const isActive = tenancy.enabled
        ? await isActiveTenant(tenantSlug, { directory, logger })
        : tenantSlug === DEFAULT_TENANT_SLUG;
      return isActive ? { subject: `${TYPE}:${tenantSlug}` } : undefined;
    },
  });
}

/**
 * Uses the directory's cache, which is invalidated when any process deletes the tenant.
 *
 * @throws `ServiceUnavailableError` for any failure of the look-up: a 401 would make clients
 * discard a valid token
 */
async function isActiveTenant(
  tenantSlug: string,
  options: { directory: TenantDirectory; logger: LoggerService },
): Promise<boolean> {
  const { directory, logger } = options;
  try {
    return (await directory.findActive(tenantSlug)) !== undefined;
  } catch (error) {
    if (error instanceof ServiceUnavailableError) {
      throw error;
    }
    logger.warn(`The tenant of a token cannot be looked up: ${error}`);
    throw new ServiceUnavailableError(
      'The tenant of the token cannot be looked up at the moment',
    );
  }
}

/**
 * Called once at the start: the handler itself is created for every plugin and sees only the
 * options of its entry.
 *
 * @throws `InputError` for an entry that admits tokens of tenants to every plugin
 */
export function assertRestrictedAccess(config: Config): void {
  const entries = config.getOptionalConfigArray(EXTERNAL_ACCESS) ?? [];
  entries.forEach((entry, index) => {
    const restrictions = entry.getOptionalConfigArray('accessRestrictions');
    // To Backstage an empty list means no restrictions.
    if (entry.getOptionalString('type') === TYPE && !restrictions?.length) {
      throw new InputError(
        `The entry ${EXTERNAL_ACCESS}[${index}] of type '${TYPE}' has no accessRestrictions: tokens of tenants would open every plugin. List the plugins that they are for, such as\n\n${RESTRICTED_ENTRY}\n`,
      );
    }
  });
}
