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
import { InputError } from '@backstage/errors';
import {
  DEFAULT_TENANT_SLUG,
  isTenantSlug,
  readTenancyConfig,
  type TenancyConfig,
} from 'backstage-plugin-catalog-tenancy-node';
import { once } from 'lodash';
import { TenantTokens } from './TenantTokens';

const TYPE = 'tenant';
const EXTERNAL_ACCESS = 'backend.auth.externalAccess';
// What Backstage puts in front of the services that it knows itself.
const PREFIXES_OF_OTHERS = ['external', 'plugin'];

interface TenantTokenContext {
  tokens: TenantTokens;
  subjectPrefix: string;
}

/**
 * Lets a tenant's signed token count as the credentials of a service, whose subject
 * is `tenant:<slug>`, once `backend.auth.externalAccess` has an entry of type
 * `tenant`. Its options are `subjectPrefix`, in place of `tenant`, and `secret`,
 * which may be left out and otherwise has to be that of `tenancy.jwtSecret`.
 */
export const tenantTokenHandler = createServiceFactory({
  service: externalTokenHandlersServiceRef,
  deps: {
    config: coreServices.rootConfig,
    logger: coreServices.rootLogger,
  },
  // Once for the backend, where the factory runs for every plugin.
  createRootContext({ config, logger }) {
    warnOfUnrestrictedAccess(config, logger);
    return createTenantTokenHandler({
      tenancy: readTenancyConfig(config),
      logger,
    });
  },
  factory: (_deps, handler) => handler,
});

function createTenantTokenHandler(options: {
  tenancy: TenancyConfig;
  logger: LoggerService;
}): ExternalTokenHandler<unknown> {
  const { tenancy, logger } = options;
  // Every plugin initializes the handler, and one warning is enough.
  const createTokens = once(() =>
    TenantTokens.create({ secret: tenancy.jwtSecret, logger }),
  );
  return createExternalTokenHandler<TenantTokenContext>({
    type: TYPE,

    initialize({ options: entry }) {
      assertSecret(entry.getOptionalString('secret'), tenancy.jwtSecret);
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
      // Without the flag all requests belong to the default tenant, and no other's
      // token may open it: not even after a rollback, which turns the flag off.
      if (!tenancy.enabled && verified.tenantSlug !== DEFAULT_TENANT_SLUG) {
        return undefined;
      }
      return { subject: `${subjectPrefix}:${verified.tenantSlug}` };
    },
  });
}

/**
 * Tokens that are signed with a secret of the entry's own would get their callers
 * in, but name no tenant: they could ask for any.
 */
function assertSecret(
  secret: string | undefined,
  jwtSecret: string | undefined,
): void {
  if (!jwtSecret) {
    throw new InputError(
      `Missing configuration value at 'tenancy.jwtSecret', which ${EXTERNAL_ACCESS} of type '${TYPE}' needs: set it, or JWT_SECRET`,
    );
  }
  if (secret !== undefined && secret !== jwtSecret) {
    throw new InputError(
      `The secret of ${EXTERNAL_ACCESS} of type '${TYPE}' is not that of 'tenancy.jwtSecret', expected the same or none`,
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

function warnOfUnrestrictedAccess(config: Config, logger: LoggerService): void {
  const unrestricted = config
    .getOptionalConfigArray(EXTERNAL_ACCESS)
    ?.some(
      entry =>
        entry.getOptionalString('type') === TYPE &&
        !entry.has('accessRestrictions'),
    );
  if (unrestricted) {
    logger.warn(
      `Tokens of tenants are good for every plugin, also for those that know no tenants: give ${EXTERNAL_ACCESS} of type '${TYPE}' accessRestrictions to the plugin 'catalog'`,
    );
  }
}
