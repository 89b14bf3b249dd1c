import type { JsonObject } from '@backstage/types';
import { isTenantSlug } from 'backstage-plugin-catalog-tenancy-node';
import {
  parseInput,
  updateTenantSchema,
} from 'backstage-plugin-tenants-common';

const LONGEST_SLUG = 63;

/**
 * The requested slug, for the audit log, including failed attempts: the path does not contain
 * it. Invalid slugs are not logged.
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
 * The requested changes to a tenant, for the audit log.
 *
 * @throws InputError if the body is malformed
 */
export function describeUpdate(body: unknown): JsonObject {
  return {
    changes: { ...parseInput(updateTenantSchema, body, 'changes to a tenant') },
  };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
