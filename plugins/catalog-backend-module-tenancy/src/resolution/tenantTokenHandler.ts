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
// What Backstage puts in front of the services that it knows itself.
const PREFIXES_OF_OTHERS = ['external', 'plugin'];

const RESTRICTED_ENTRY = `backend:
  auth:
    externalAccess:
      - type: ${TYPE}
        options: {}
        accessRestrictions:
          - plugin: catalog
            permission: [catalog.entity.read]`;

interface TenantTokenContext {
  tokens: TenantTokens;
  subjectPrefix: string;
}

/**
 * Lets the signed token of an active tenant count as the credentials of a service,
 * whose subject is `tenant:<slug>`, once `backend.auth.externalAccess` has an entry of
 * type `tenant`, with `accessRestrictions`. Its options are `subjectPrefix`, in place of `tenant`, and `secret`,
 * which may be left out and otherwise has to be one of `tenancy.jwtSecret`.
 */
export const tenantTokenHandler = createServiceFactory({
  service: externalTokenHandlersServiceRef,
  deps: {
    config: coreServices.rootConfig,
    // It connects at the first look-up, which there is none of without an entry.
    directory: tenantDirectoryServiceRef,
    logger: coreServices.rootLogger,
  },
  // Once for the backend, where the factory runs for every plugin.
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
  // Every plugin initializes the handler, and one warning is enough.
  const createTokens = once(() =>
    TenantTokens.create({ secrets: tenancy.jwtSecrets, logger }),
  );
  return createExternalTokenHandler<TenantTokenContext>({
    type: TYPE,

    initialize({ options: entry }) {
      assertSecret(entry.getOptionalString('secret'), tenancy.jwtSecrets);
      return {
        tokens: createTokens(),
        subjectPrefix: readSubjectPrefix(entry),
      };
    },

    async verifyToken(token, { tokens, subjectPrefix }) {
      const verified = tokens.verify(token);
      if (!verified || verified.expired || !isTenantSlug(verified.tenantSlug)) {
        return undefined;
      }
      const { tenantSlug } = verified;
      // Without the flag all requests belong to the default tenant, and no other's
      // token may open it: not even after a rollback, which turns the flag off. There
      // may be no table to look it up in then.
      const isActive = tenancy.enabled
        ? await isActiveTenant(tenantSlug, { directory, logger })
        : tenantSlug === DEFAULT_TENANT_SLUG;
      return isActive
        ? { subject: `${subjectPrefix}:${tenantSlug}` }
        : undefined;
    },
  });
}

/**
 * The directory remembers answers, and forgets them when any process deletes the
 * tenant.
 *
 * @throws `ServiceUnavailableError` where it can't be found out. Nothing else may come
 * of it: by a 401 clients would take their token for one that is no good.
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
    logger.warn(`The tenant of a token can't be looked up: ${error}`);
    throw new ServiceUnavailableError(
      "The tenant of the token can't be looked up at the moment",
    );
  }
}

/**
 * Tokens that are signed with a secret of the entry's own would get their callers
 * in, but name no tenant: they could ask for any.
 */
function assertSecret(
  secret: string | undefined,
  jwtSecrets: readonly string[],
): void {
  if (jwtSecrets.length === 0) {
    throw new InputError(
      `Missing configuration value at 'tenancy.jwtSecret', which ${EXTERNAL_ACCESS} of type '${TYPE}' needs: set it, or JWT_SECRET`,
    );
  }
  if (secret !== undefined && !jwtSecrets.includes(secret)) {
    throw new InputError(
      `The secret of ${EXTERNAL_ACCESS} of type '${TYPE}' is none of 'tenancy.jwtSecret', expected one of them or no secret`,
    );
  }
}

function readSubjectPrefix(entry: Config): string {
  const prefix = entry.getOptionalString('subjectPrefix') ?? TYPE;
  if (!/^\S+$/.test(prefix)) {
    throw new InputError(
      `Invalid subjectPrefix '${prefix}' of ${EXTERNAL_ACCESS} of type '${TYPE}', expected characters that are no spaces`,
    );
  }
  // A tenant `ci` would be `external:ci`, which may be an administrator.
  if (PREFIXES_OF_OTHERS.includes(prefix)) {
    throw new InputError(
      `Invalid subjectPrefix '${prefix}' of ${EXTERNAL_ACCESS} of type '${TYPE}': other services go by it, expected one of its own, such as '${prefix}:tenants'`,
    );
  }
  return prefix;
}

/**
 * Is for the start, once: the handler itself is made for every plugin, and sees nothing
 * of its entry but the options.
 *
 * @throws `InputError` for an entry that would let tokens of tenants into every plugin
 */
export function assertRestrictedAccess(config: Config): void {
  const entries = config.getOptionalConfigArray(EXTERNAL_ACCESS) ?? [];
  entries.forEach((entry, index) => {
    const restrictions = entry.getOptionalConfigArray('accessRestrictions');
    // Backstage takes an empty list for none.
    if (entry.getOptionalString('type') === TYPE && !restrictions?.length) {
      throw new InputError(
        `The entry ${EXTERNAL_ACCESS}[${index}] of type '${TYPE}' has no accessRestrictions: tokens of tenants would open every plugin, and most know no tenants. Expected the plugins that they are for, such as\n\n${RESTRICTED_ENTRY}\n`,
      );
    }
  });
}
