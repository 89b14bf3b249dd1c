import type { JsonObject } from '@backstage/types';
import { createTenantSchema } from 'backstage-plugin-tenants-common';
import { z } from 'zod';

const creation = z.looseObject({
  tenant_slug: createTenantSchema.shape.tenant_slug,
});

/**
 * The requested slug, for the audit log, including failed attempts: the path does not contain
 * it. Invalid slugs are not logged.
 */
export function describeCreation(body: unknown): JsonObject {
  const { data } = creation.safeParse(body);
  return data ? { slug: data.tenant_slug } : {};
}
