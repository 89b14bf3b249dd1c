import { messageOf, statusOf } from '@internal/pages';
import type { CreateTenant } from 'backstage-plugin-tenants-common';
import { problemsOf } from '../problems';

/** How many characters a slug has at most. */
export const LONGEST_SLUG = 63;
const LONGEST_NAME = 255;
const RESERVED_SLUGS = ['www', 'mine'];

/** The fields of a tenant that can be wrong. */
const FIELDS = [
  'tenant_name',
  'tenant_slug',
  'max_entities',
  'entity_ttl_days',
] as const;

export type Field = (typeof FIELDS)[number];

/** The limits that the backend gives a tenant for which none are named. */
export const DEFAULT_LIMITS = { max_entities: 50_000, entity_ttl_days: 365 };

/** What is wrong with a new tenant, by field, as far as it shows without the backend. */
export function findProblems({
  tenant_name: name,
  tenant_slug: slug,
}: Pick<CreateTenant, 'tenant_name' | 'tenant_slug'>): {
  tenant_name?: 'missing' | 'long';
  tenant_slug?: 'form' | 'reserved';
} {
  const problems: ReturnType<typeof findProblems> = {};
  if (!name.trim()) {
    problems.tenant_name = 'missing';
  } else if (Array.from(name).length > LONGEST_NAME) {
    problems.tenant_name = 'long';
  }
  if (!/^[a-z0-9-]+$/.test(slug) || slug.length > LONGEST_SLUG) {
    problems.tenant_slug = 'form';
  } else if (RESERVED_SLUGS.includes(slug)) {
    problems.tenant_slug = 'reserved';
  }
  return problems;
}

/** What the backend finds wrong with a tenant. */
export function readProblems(error: unknown): Partial<Record<Field, string>> {
  return statusOf(error) === 409
    ? { tenant_slug: messageOf(error) }
    : problemsOf(FIELDS, error);
}
