import { parseEntityRef } from '@backstage/catalog-model';
import { z } from 'zod';
import type {
  CreateShare,
  ReceivedShare,
  TenantShare,
  TenantShares,
  UpdateShare,
} from '../types';
import { count, integer, slug, time, uuid } from './fields';

const MOST_FILTERS = 20;
const LONGEST_FILTER = 1_000;
const MOST_TARGETS = 1_000;

/** A key of an entity, and a value where it has one. */
const CONDITION = /^\s*[^=,$\s][^=,]*(?:=[^,]*)?$/;

// Beside what nobody types: PostgreSQL keeps no NUL character, and a lone surrogate has no
// UTF-8 form.
const UNFIT = /[\p{Cc}\p{Surrogate}]/u;

const filterText = z
  .string({ error: 'a list of texts' })
  .max(LONGEST_FILTER, `texts of at most ${LONGEST_FILTER} characters`)
  .refine(
    text =>
      !UNFIT.test(text) && text.split(',').every(each => CONDITION.test(each)),
    'texts such as kind=template,spec.type=service',
  );

const owner = z
  .string({ error: 'the reference of an entity, or null' })
  .max(255, 'at most 255 characters')
  .refine(ref => {
    try {
      return Boolean(parseEntityRef(ref)) && !UNFIT.test(ref);
    } catch {
      return false;
    }
  }, 'the reference of an entity such as group:default/platform, or null')
  .nullable();

const fields = {
  targets: z
    .custom<CreateShare['targets']>(
      value =>
        value === 'all' ||
        (Array.isArray(value) &&
          value.length > 0 &&
          value.length <= MOST_TARGETS &&
          value.every(each => typeof each === 'string')),
      `"all" or a list of 1 to ${MOST_TARGETS} slugs`,
    )
    .meta({
      anyOf: [
        { const: 'all' },
        {
          type: 'array',
          items: { type: 'string' },
          minItems: 1,
          maxItems: MOST_TARGETS,
        },
      ],
    }),
  filter: z
    .array(filterText, { error: 'a list of texts' })
    .min(1, 'a list of at least one text')
    .max(MOST_FILTERS, `a list of at most ${MOST_FILTERS} texts`),
  owner: owner.optional(),
  position: integer(0, 1_000).optional(),
};

/**
 * The body of `POST /api/tenants/:slug/shares`.
 *
 * @public
 */
export const createShareSchema: z.ZodType<CreateShare> = z.strictObject(
  fields,
  { error: 'an object with targets and filter' },
);

/**
 * The body of `PATCH /api/tenants/:slug/shares/:share`.
 *
 * @public
 */
export const updateShareSchema: z.ZodType<UpdateShare> = z
  .strictObject(
    {
      ...fields,
      targets: fields.targets.optional(),
      filter: fields.filter.optional(),
    },
    { error: 'an object' },
  )
  .refine(
    changes => Object.keys(changes).length > 0,
    'an object with targets, filter, owner or position',
  )
  .meta({ minProperties: 1 });

/**
 * Entities of one tenant of which others get copies.
 *
 * @public
 */
export const tenantShareSchema: z.ZodType<TenantShare> = z.object({
  share_id: uuid,
  targets: z.union([z.literal('all'), z.array(slug)]),
  filter: z.array(z.string()),
  owner: z.string().nullable(),
  position: count,
  created_by: z.string(),
  created_at: time,
  updated_at: time,
  copies: count,
  conflicts: count,
});

const receivedShare: z.ZodType<ReceivedShare> = z.object({
  share_id: uuid,
  tenant_slug: slug,
  copies: count,
  conflicts: count,
});

/**
 * The shares of a tenant.
 *
 * @public
 */
export const tenantSharesSchema: z.ZodType<TenantShares> = z.object({
  shares: z.array(tenantShareSchema),
  received: z.array(receivedShare),
});
