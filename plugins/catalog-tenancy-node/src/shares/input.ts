import { parseEntityRef } from '@backstage/catalog-model';
import type { FilterPredicate } from '@backstage/filter-predicates';
import type { CreateShare, UpdateShare } from 'backstage-plugin-tenants-common';
import { z } from 'zod';
import { integer, parseInput } from '../tenants/input';

const MOST_FILTERS = 20;
const LONGEST_FILTER = 1_000;
const MOST_TARGETS = 1_000;

/** A key of an entity, and a value where it has one. */
const CONDITION = /^\s*([^=,$\s][^=,]*?)\s*(?:=\s*([^,]*?)\s*)?$/;

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
  targets: z.custom<CreateShare['targets']>(
    value =>
      value === 'all' ||
      (Array.isArray(value) &&
        value.length > 0 &&
        value.length <= MOST_TARGETS &&
        value.every(each => typeof each === 'string')),
    `"all" or a list of 1 to ${MOST_TARGETS} slugs`,
  ),
  filter: z
    .array(filterText, { error: 'a list of texts' })
    .min(1, 'a list of at least one text')
    .max(MOST_FILTERS, `a list of at most ${MOST_FILTERS} texts`),
  owner: owner.optional(),
  position: integer(0, 1_000).optional(),
};

const createSchema: z.ZodType<CreateShare> = z.strictObject(fields, {
  error: 'an object with targets and filter',
});

const updateSchema: z.ZodType<UpdateShare> = z
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
  );

/**
 * Parses a share that is to be made.
 *
 * @throws InputError that names each bad value and the form that was expected
 * @public
 */
export function parseCreateShare(input: unknown): CreateShare {
  return parseInput(createSchema, input, 'share');
}

/**
 * Parses what is to change of a share.
 *
 * @throws InputError that names each bad value and the form that was expected
 * @public
 */
export function parseUpdateShare(input: unknown): UpdateShare {
  return parseInput(updateSchema, input, 'share');
}

/** What the texts of a share ask for, as `/entities` understands them. */
export function toPredicate(filter: readonly string[]): FilterPredicate {
  return { $any: filter.map(text => ({ $all: conditionsOf(text) })) };
}

/** Of one key, one of several values is enough. */
function conditionsOf(text: string): FilterPredicate[] {
  const values = new Map<string, string[] | undefined>();
  for (const condition of text.split(',')) {
    const [, key, value] = CONDITION.exec(condition)!;
    const known = values.get(key) ?? [];
    values.set(
      key,
      value === undefined || (values.has(key) && !values.get(key))
        ? undefined
        : [...known, value],
    );
  }
  return [...values].map(
    ([key, some]) =>
      ({ [key]: some ? { $in: some } : { $exists: true } } as FilterPredicate),
  );
}
