import type { JsonObject } from '@backstage/types';
import {
  isTenantSlug,
  parseUpdateTenant,
} from 'backstage-plugin-catalog-tenancy-node';

const LONGEST_SLUG = 63;

/**
 * What the audit log says of a tenant that is to be created: the slug asked for. The
 * path does not have it, and whoever looks for attempts at a slug needs it of those
 * that failed too. What can be no slug is kept out of the log.
 */
export function describeCreation(body: unknown): JsonObject {
  const slug = isObject(body) ? body.tenant_slug : undefined;
  return typeof slug === 'string' &&
    slug.length <= LONGEST_SLUG &&
    isTenantSlug(slug)
    ? { slug }
    : {};
}

/**
 * What the audit log says of changes to a tenant: which fields are to become what.
 *
 * @throws InputError if they are none
 */
export function describeUpdate(body: unknown): JsonObject {
  return { changes: { ...parseUpdateTenant(body) } };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
