import type { Executor } from '../../../engine/Executor';

/** The function that says what the terms of an entity are. */
export const TERMS = 'entity_search_terms';

/** The collation by which PostgreSQL lower-cases the way that JavaScript does. */
const UNICODE_COLLATION = 'und-x-icu';

// As the search table of the stock catalog: longer keys are not there at all, and
// longer values count as null.
const MAX_LENGTH = 200;

/**
 * Where the stock catalog does not walk into an entity for its search: it has other rules
 * for these.
 *
 * @public
 */
export const SPECIAL_SEARCH_PATHS: readonly string[] = [
  'attachments',
  'relations',
  'status',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'metadata.etag',
];

/** A path that is longer than all of these is none of them. */
const LONGEST_SPECIAL_PATH = Math.max(
  ...SPECIAL_SEARCH_PATHS.map(({ length }) => length),
);

// Places of terms, in the order in which the stock catalog comes to them: members
// whose key is an array index come before all others in JavaScript, and what it adds
// after the walk comes last. A place is the bytes of one number for each level, which
// are in the order of the numbers, and cost less to append to and to compare than an
// array of them.
const OTHER_KEYS = 2 ** 30;
const AFTER_THE_WALK = `'\\x7fffffff'::bytea`;
const BYTES_OF_A_LEVEL = 4;

// An entity that somebody registers may have thousands of levels, each of which holds
// all of those below. Keys of so many levels are too long to be there; what is left
// out are lists in lists in lists.
const DEEPEST = 128;

// The shortest digits that make the same double, as both PostgreSQL and JavaScript
// choose them. Their forms differ: JavaScript has no exponent from 1e-6 to 1e21, and no
// zero before the one digit of an exponent. What PostgreSQL refuses to make a double of
// are Infinity and 0 in JavaScript.
export const NUMBER = `case
         when abs(n) >= 1.797693134862315808e308 then case when n < 0 then '-Infinity' else 'Infinity' end
         when abs(n) <= 2.4703282292062328e-324 then '0'
         when abs(n) >= 9007199254740992 and abs(n) < 1e40 then (${largeNumber(
           'n::float8',
         )})
         when abs(n::float8) >= 1e-6 and abs(n) < 9007199254740992 then n::float8::text::numeric::text
         else regexp_replace(n::float8::text, 'e([+-])0', 'e\\1')
       end`;

/**
 * Beyond 2^53 numbers with fewer digits stand half-way between two doubles, where they
 * are read as the even one. JavaScript writes such a number, PostgreSQL does not.
 */
function largeNumber(double: string): string {
  return `select case when abs(shortest) < 1e21 then shortest::text
                else regexp_replace(rtrim(shortest::text, '0'), '(\\d)(\\d+)', '\\1.\\2')
                       || 'e+' || length(abs(shortest)::text) - 1 end
           from (select ${double}, ${double}::text::numeric) number (double, written),
                lateral (select ('1e' || 1 + length(written::text) - length(rtrim(written::text, '0')))::numeric)
                  unit (unit),
                lateral (select trunc(written / unit) * unit, (trunc(written / unit) + sign(written)) * unit)
                  others (lower, upper),
                lateral (select case
                   when lower::float8 = double
                    and (upper::float8 <> double or abs(written - lower) <= abs(upper - written)) then lower
                   when upper::float8 = double then upper
                   else written end) chosen (shortest)`;
}

/** What `String(value)` is of a JSON primitive; null for null, which is of the kind n too. */
const TEXT = `case kind
         when 'n' then (select ${NUMBER} from (select (node #>> '{}')::numeric) number (n))
         else node #>> '{}'
       end`;

/**
 * Whether a text is no longer than what is kept, in JavaScript's count: a character
 * beyond the basic plane counts as two. The count of bytes is never less than that,
 * and is at hand.
 */
function fits(text: string): string {
  return `(octet_length(${text}) <= ${MAX_LENGTH} or char_length(${text}) <= ${MAX_LENGTH}
         and 2 * char_length(${text})
             - char_length(regexp_replace(${text}, '[\\U00010000-\\U0010ffff]', '', 'g')) <= ${MAX_LENGTH})`;
}

/**
 * The statement that creates the function: the rows that the stock catalog writes
 * into its table `search` for an entity, whatever the order of its keys was before
 * it was stored as JSON.
 *
 * Unlike its `buildEntitySearch`, this goes down 128 levels at the most. That one
 * refuses an entity with keys that vary only in casing; here the rows of both are
 * there. Of rows that are equal but for `original_value`, the one that comes first in
 * the entity stays.
 */
export async function createTerms(
  executor: Pick<Executor, 'read'>,
): Promise<string> {
  const query = await termsQuery(executor);
  return `create or replace function ${TERMS}(entity jsonb, entity_id uuid)
  returns table (key text, value text, original_value text)
  language sql stable parallel safe rows 60 as $body$
${query('entity', 'entity_id')}
$body$`;
}

/**
 * The same as a query, for a database that does not have the function: what it makes
 * of an entity and its id, which are SQL.
 */
export async function termsQuery(
  executor: Pick<Executor, 'read'>,
): Promise<(entity: string, entityId: string) => string> {
  const lower = await lowerCaseOf(executor);
  return (entity, entityId) => `with recursive document (root) as materialized (
  -- What is stored compressed is read once.
  select ${entity} #> '{}'
), walk (path, node, kind, place) as (
  select ''::text, root, ${kindOf('root')}, ''::bytea from document
   union all
  select step.path, step.node, ${kindOf(
    'step.node',
  )}, walk.place || int4send(step.place)
    from walk, lateral (
      select member.path, member.node,
             member.position::int + case
               when member.key collate "C" < ':' and member.key ~ '^(0|[1-9][0-9]{0,9})$'
                and member.key::bigint < 4294967295
               then 0 else ${OTHER_KEYS} end
        from (select case walk.path when '' then m.key else walk.path || '.' || m.key end,
                     m.key, m.value, m.position
                from jsonb_each(case walk.kind when 'o' then walk.node end)
                     with ordinality m (key, value, position)
               where walk.kind = 'o' offset 0) member (path, key, node, position)
       where octet_length(member.path) > ${LONGEST_SPECIAL_PATH}
          or member.path <> all ('{${SPECIAL_SEARCH_PATHS}}')
       union all
      -- Each item, and true at each text.
      select case part when 0 then walk.path else walk.path || '.' || (item.node #>> '{}') end,
             case part when 0 then item.node else 'true' end,
             2 * item.position::int + part
        from jsonb_array_elements(case walk.kind when 'a' then walk.node end)
             with ordinality item (node, position),
             (values (0), (1)) parts (part)
       where walk.kind = 'a' and (part = 0 or jsonb_typeof(item.node) = 'string')
    ) step (path, node, place)
   where (walk.kind = 'o' or walk.kind = 'a')
     and octet_length(walk.place) < ${DEEPEST * BYTES_OF_A_LEVEL}
     and char_length(walk.path) <= ${2 * MAX_LENGTH}
), term (key, node, kind, place) as (
  select path, node, kind, place from walk where kind <> 'o' and kind <> 'a'
   union all
  select added.key, added.node, ${kindOf(
    'added.node',
  )}, ${AFTER_THE_WALK} || int4send(added.place)
    from (select root -> 'metadata' from document offset 0) m (metadata), lateral (values
      ('metadata.name', coalesce(metadata -> 'name', 'null'), 0),
      ('metadata.namespace', coalesce(metadata -> 'namespace', 'null'), 1),
      ('metadata.uid', coalesce(nullif(metadata -> 'uid', 'null'), to_jsonb(${entityId})), 2),
      ('metadata.namespace',
       case when coalesce(metadata ->> 'namespace', '') = '' then jsonb '"default"' end, 3)
    ) added (key, node, place)
   where added.node is not null
   union all
  select relation.key, relation.node, ${kindOf('relation.node')},
         ${AFTER_THE_WALK} || int4send(3 + relation.position::int)
    from (select 'relations.' || coalesce(r.node ->> 'type', 'undefined'),
                 coalesce(r.node -> 'targetRef', 'null'), r.position
            from document, jsonb_array_elements(case jsonb_typeof(root -> 'relations')
                   when 'array' then root -> 'relations' else '[]' end)
                 with ordinality r (node, position)
           where jsonb_typeof(r.node) = 'object' offset 0) relation (key, node, position)
), written (key, original_value, place) as not materialized (
  select ${lower('key')}, ${TEXT}, place from term offset 0
), lowered (key, value, original_value, place) as not materialized (
  select key, ${lower('original_value')}, original_value, place
    from written where ${fits('key')} offset 0
), kept (key, value, original_value, place) as (
  select key, case when short then value end, case when short then original_value end, place
    from lowered, lateral (select ${fits('value')}) bounded (short)
)
select distinct on (key collate "C", value collate "C") key, value, original_value
  from kept
 order by key collate "C", value collate "C", place`;
}

/** The first letter of what `jsonb_typeof` says: number and null have the same. */
function kindOf(node: string): string {
  return `jsonb_typeof(${node})::"char"`;
}

/**
 * How a text is lower-cased. Most are ASCII, for which a look at the length and the
 * collation C cost half of what ICU does; in an encoding of single bytes the length
 * says nothing. A server without ICU lower-cases by the database's own collation.
 */
async function lowerCaseOf(
  executor: Pick<Executor, 'read'>,
): Promise<(text: string) => string> {
  const [{ found, multibyte }] = await executor.read<{
    found: boolean;
    multibyte: boolean;
  }>(
    `select exists (
       select from pg_catalog.pg_collation
        where collname = $1 and collnamespace = 'pg_catalog'::regnamespace
          and collencoding in (-1, pg_char_to_encoding(getdatabaseencoding()))
     ) as found,
     pg_encoding_max_length(pg_char_to_encoding(getdatabaseencoding())) > 1 as multibyte`,
    [UNICODE_COLLATION],
  );
  return text => {
    const unicode = `lower(${text} collate "${UNICODE_COLLATION}")`;
    if (!found) {
      return `lower(${text})`;
    }
    return multibyte
      ? `case when octet_length(${text}) = char_length(${text})
              then lower(${text} collate "C") else ${unicode} collate "C" end`
      : unicode;
  };
}
