import type { Config } from '@backstage/config';
import type { DoctorExamination } from 'backstage-catalog-tenancy-migrations';
import {
  examined,
  readTenancyConfig,
  type TenancyConfig,
} from 'backstage-plugin-catalog-tenancy-node';
import { HostnameTenants } from '../resolution/hostnames';
import { assertRestrictedAccess } from '../resolution/tenantTokenHandler';
import { TenantTokens } from '../resolution/TenantTokens';

/**
 * Checks the configuration of hostnames, proxies, tokens and administrators, for the command
 * `doctor`.
 *
 * @public
 */
export const doctorExamination: DoctorExamination = async config => {
  let tenancy: TenancyConfig;
  try {
    tenancy = readTenancyConfig(config);
  } catch {
    // Another examination reports it.
    return [];
  }
  const { baseDomains } = tenancy;
  return [
    ...(await examined('hostnames', {
      ok: `Tenants are at ${baseDomains
        .map(domain => `<slug>.${domain}`)
        .join(', ')}.`,
      check: logger => {
        HostnameTenants.create({ config, baseDomains });
        if (baseDomains.length === 0) {
          logger.warn(
            'Without tenancy.baseDomains the first label of any host names a tenant. Set it to the domains below which tenants have their hostnames.',
          );
        }
      },
    })),
    ...(await examined('proxies', {
      ok: 'backend.trustProxy says whose X-Forwarded-Host counts, or no proxy is expected.',
      check: logger => {
        if (endsTlsElsewhere(config) && !config.has('backend.trustProxy')) {
          logger.warn(
            'backend.baseUrl is https, and the backend itself speaks http: the proxy between them is not trusted. Set backend.trustProxy to its address.',
          );
        }
      },
    })),
    ...(await examined('tokens', {
      ok:
        tenancy.jwtSecrets.length > 0
          ? 'The secrets of tokens are long enough.'
          : 'Without tenancy.jwtSecret no token names a tenant.',
      check: logger => {
        assertRestrictedAccess(config);
        TenantTokens.create({ secrets: tenancy.jwtSecrets, logger });
        if (tenancy.membership === 'open' && !tenancy.requireMatchingToken) {
          logger.warn(
            'With tenancy.membership open, a token of one tenant opens others. Set tenancy.requireMatchingToken to true.',
          );
        }
      },
    })),
    ...(await examined('administrators', {
      ok: 'There are administrators.',
      check: logger => {
        const admins = config.getOptionalStringArray('tenancy.admins') ?? [];
        if (
          admins.length === 0 &&
          String(config.getOptional('tenancy.adminsByPermission')) !== 'true'
        ) {
          logger.warn(
            'Nobody may administer tenants. List users or services in tenancy.admins.',
          );
        }
      },
    })),
  ];
};

function endsTlsElsewhere(config: Config): boolean {
  const url = config.getOptionalString('backend.baseUrl') ?? '';
  return url.startsWith('https:') && !config.has('backend.https');
}
