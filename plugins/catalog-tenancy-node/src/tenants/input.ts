import { InputError } from '@backstage/errors';
import { z } from 'zod';
import { LIMIT_FIELDS, LIMIT_NAMES } from './limits';
import { LONGEST_SLUG } from './Tenant';
import type { CreateTenant, ListTenants, UpdateTenant } from './TenantStore';

const LARGEST_INT4 = 2_147_483_647;
const LONGEST_NAME = 255;
const LONGEST_SEARCH = 255;
const LARGEST_PAGE = 500;
const DEFAULT_PAGE = 100;

// A hostname that begins with `www` names no tenant (specification, "Tenant
// resolution"), so that one of that name would be out of reach. The route
// /api/tenants/mine answers with the tenants of the caller.
const RESERVED_SLUGS = ['www', 'mine'];

// PostgreSQL keeps no NUL character, and a lone surrogate has no UTF-8 form.
const UNSTORABLE = /[\0\p{Surrogate}]/u;

const SLUG = `1 to ${LONGEST_SLUG} characters of a-z, 0-9 and -`;
const NAME = `a text of 1 to ${LONGEST_NAME} characters`;
const SEARCH = `a text of at most ${LONGEST_SEARCH} characters`;
const CHANGES = `an object with one or more of tenant_name, max_entities, entity_ttl_days, ${LIMIT_NAMES.slice(
  0,
  -1,
).join(', ')} and ${LIMIT_NAMES.at(-1)}`;
const BURST = 'null, or come together with requests_per_second';

const tenantSlug = z
  .string({ error: SLUG })
  .regex(new RegExp(`^[a-z0-9-]{1,${LONGEST_SLUG}}$`), SLUG)
  .refine(slug => !RESERVED_SLUGS.includes(slug), {
    error: `other than ${RESERVED_SLUGS.join(' and ')} (reserved)`,
  });

const tenantName = z
  .string({ error: NAME })
  .refine(name => !UNSTORABLE.test(name), {
    error: `${NAME} without NUL characters and lone surrogates`,
    abort: true,
  })
  .refine(isWithinBounds, { error: NAME });

const limits = {
  max_entities: integer(0, LARGEST_INT4).optional(),
  entity_ttl_days: integer(1, LARGEST_INT4).optional(),
  concurrency: ownLimit(LIMIT_FIELDS.concurrency),
  requests_per_second: ownLimit(LIMIT_FIELDS.requests_per_second),
  burst: ownLimit(LIMIT_FIELDS.burst),
};

const createTenantSchema: z.ZodType<CreateTenant> = z
  .strictObject(
    { tenant_slug: tenantSlug, tenant_name: tenantName, ...limits },
    { error: 'an object with tenant_slug and tenant_name' },
  )
  .refine(hasRateOfBurst, { error: BURST, path: ['burst'] });

const updateTenantSchema: z.ZodType<UpdateTenant> = z
  .strictObject(
    { tenant_name: tenantName.optional(), ...limits },
    { error: CHANGES },
  )
  .refine(
    changes => Object.values(changes).some(value => value !== undefined),
    {
      error: CHANGES,
    },
  )
  .refine(hasRateOfBurst, { error: BURST, path: ['burst'] })
  // Without the rate there is nothing that a burst could be of.
  .transform(changes =>
    changes.requests_per_second === null
      ? { ...changes, burst: null }
      : changes,
  );

/** What asks for a part of a list. */
export const pageFields = {
  limit: integer(1, LARGEST_PAGE).default(DEFAULT_PAGE),
  offset: integer(0, Number.MAX_SAFE_INTEGER).default(0),
};

const search = z
  .string({ error: SEARCH })
  .max(LONGEST_SEARCH, { error: SEARCH, abort: true })
  .refine(text => !UNSTORABLE.test(text), {
    error: `${SEARCH} without NUL characters and lone surrogates`,
  });

const listTenantsSchema: z.ZodType<Required<ListTenants>> = z.strictObject(
  {
    deleted: z.boolean({ error: 'true or false' }).default(false),
    search: search.default(''),
    ...pageFields,
  },
  { error: 'an object' },
);

/**
 * Parses a tenant that is to be created.
 *
 * @throws InputError that names each bad value and the form that was expected
 * @public
 */
export function parseCreateTenant(input: unknown): CreateTenant {
  return parseInput(createTenantSchema, input, 'tenant');
}

/**
 * Parses changes to a tenant.
 *
 * @throws InputError that names each bad value and the form that was expected
 * @public
 */
export function parseUpdateTenant(input: unknown): UpdateTenant {
  return parseInput(updateTenantSchema, input, 'changes to a tenant');
}

/**
 * Parses which tenants are asked for, and fills in the defaults.
 *
 * @throws InputError that names each bad value and the form that was expected
 * @public
 */
export function parseListTenants(input: unknown): Required<ListTenants> {
  return parseInput(listTenantsSchema, input, 'query');
}

/** A whole number within bounds. */
export function integer(minimum: number, maximum: number) {
  const expected = `an integer from ${minimum} to ${maximum}`;
  return z
    .int({ error: expected })
    .min(minimum, expected)
    .max(maximum, expected);
}

/** A limit that holds in place of the configured one, unless it is null. */
function ownLimit(maximum: number) {
  const expected = `an integer from 1 to ${maximum}, or null for the default`;
  return z
    .int({ error: expected })
    .min(1, expected)
    .max(maximum, expected)
    .nullable()
    .optional();
}

/** By what is given alone: of two changes at once, neither has to know of the other. */
function hasRateOfBurst({
  burst,
  requests_per_second: rate,
}: Pick<UpdateTenant, 'burst' | 'requests_per_second'>): boolean {
  return typeof burst !== 'number' || typeof rate === 'number';
}

/** Counts code points, as PostgreSQL does: an emoji is one character. */
function isWithinBounds(name: string): boolean {
  return (
    name.length > 0 &&
    name.length <= 2 * LONGEST_NAME &&
    Array.from(name).length <= LONGEST_NAME
  );
}

const MOST_PROBLEMS = 5;
const LONGEST_VALUE = 60;

/**
 * Parses the input of a caller. The messages of the schema say what is expected, in a
 * form that continues "must be".
 *
 * `parseInput` of mockup-common words its errors in the same way, for nested input too.
 * The two stay apart: the plugins can be installed without each other, and a package that
 * is built into both would have to be a common library, unlike `packages/http`.
 *
 * @param name - what to call the input in the error, such as `query`
 * @throws InputError that names each bad value and the form that was expected
 */
export function parseInput<T>(
  schema: z.ZodType<T>,
  input: unknown,
  name: string,
): T {
  const result = schema.safeParse(input);
  if (result.success) {
    return result.data;
  }
  const problems = result.error.issues.map(issue => describe(issue, input));
  throw new InputError(`Invalid ${name}: ${firstOf(problems, '; ')}`);
}

function describe(issue: z.core.$ZodIssue, input: unknown): string {
  if (issue.code === 'unrecognized_keys') {
    return `unknown field ${firstOf(issue.keys.map(format), ', ')}`;
  }
  const [field] = issue.path;
  const value =
    field === undefined ? input : Reflect.get(input as object, field);
  const subject = field === undefined ? 'it' : String(field);
  return value === undefined
    ? `${subject} is missing, expected ${issue.message}`
    : `${subject} must be ${issue.message}, got ${format(value)}`;
}

/** Keeps an error short, however many problems there are. */
function firstOf(texts: string[], separator: string): string {
  const more = texts.length - MOST_PROBLEMS;
  return [
    ...texts.slice(0, MOST_PROBLEMS),
    ...(more > 0 ? [`and ${more} more`] : []),
  ].join(separator);
}

function format(value: unknown): string {
  if (Array.isArray(value)) {
    return 'a list';
  }
  if (typeof value === 'object' && value !== null) {
    return 'an object';
  }
  if (typeof value !== 'string') {
    return String(value);
  }
  return value.length > LONGEST_VALUE
    ? `${JSON.stringify(value.slice(0, LONGEST_VALUE))}…`
    : JSON.stringify(value);
}
