import { z } from 'zod';
import { boundedList, count, integer, slug, time, uuid } from './fields';

const MOST_FILTERS = 20;
const FILTERS = `a list of at most ${MOST_FILTERS} texts`;
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

const OWNER =
  'the reference of an entity such as group:default/platform, or null';
const owner = z
  .string({ error: OWNER })
  .max(255, 'at most 255 characters')
  .regex(/^[^:/]+:([^:/]+\/)?[^:/]+$/, OWNER)
  .refine(ref => !UNFIT.test(ref), OWNER)
  .nullable();

const fields = {
  /** As in {@link TenantShare.targets}: 1,000 slugs at most. */
  targets: z
    .custom<'all' | string[]>(
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
  /** As in {@link TenantShare.filter}: 1 to 20 texts. */
  filter: boundedList(
    MOST_FILTERS,
    FILTERS,
    z
      .array(filterText, { error: 'a list of texts' })
      .min(1, 'a list of at least one text'),
  ),
  /** As in {@link TenantShare.owner}; null by default. */
  owner: owner.optional(),
  /** 0 to 1,000; 100 by default */
  position: integer(0, 1_000).optional(),
};

/** The body of `POST /api/tenants/:slug/shares`. @public */
export const createShareSchema = z.strictObject(fields, {
  error: 'an object with targets and filter',
});

/** A share that is to be made. @public */
export type CreateShare = z.infer<typeof createShareSchema>;

/** The body of `PATCH /api/tenants/:slug/shares/:share`. @public */
export const updateShareSchema = z
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

/** What is to change of a share: one thing at least. @public */
export type UpdateShare = z.infer<typeof updateShareSchema>;

/** Entities of one tenant of which others get copies. @public */
export const tenantShareSchema = z.object({
  /** A UUID. */
  share_id: uuid,
  /** The slugs of the tenants that receive them, or all tenants with an engine. */
  targets: z.union([z.literal('all'), z.array(slug)]),
  /**
   * Which entities: each text is a `filter` of `/api/catalog/entities`, such as
   * `kind=template,spec.type=service`. What matches one of them is shared.
   */
  filter: z.array(z.string()),
  /**
   * The reference of what owns the copies whose own owner is not shared; without it, that is
   * `unknown` where the catalog demands one.
   */
  owner: z.string().nullable(),
  /** Where two shares have the same entity, the lower position wins, then the older share. */
  position: count,
  /** The user or service that made the share. */
  created_by: z.string(),
  /** ISO 8601, UTC */
  created_at: time,
  /** ISO 8601, UTC */
  updated_at: time,
  /** How many copies all receiving tenants have. */
  copies: count,
  /** How many copies are left out, because a tenant has an entity of the same name. */
  conflicts: count,
});

/** Entities of one tenant of which others get copies. @public */
export type TenantShare = z.infer<typeof tenantShareSchema>;

const receivedShare = z.object({
  /** As in {@link TenantShare.share_id}. */
  share_id: uuid,
  /** The slug of the tenant that shares. */
  tenant_slug: slug,
  /** How many copies the tenant has of it. */
  copies: count,
  /** How many are left out, because the tenant has an entity of the same name. */
  conflicts: count,
});

/** What a tenant shares and receives. @public */
export const tenantSharesSchema = z.object({
  /** What it shares, by position. */
  shares: z.array(tenantShareSchema),
  /** What it receives, by slug. */
  received: z.array(receivedShare),
});

/** The shares of a tenant. @public */
export type TenantShares = z.infer<typeof tenantSharesSchema>;

/** What a tenant gets of a share. @public */
export type ReceivedShare = TenantShares['received'][number];
