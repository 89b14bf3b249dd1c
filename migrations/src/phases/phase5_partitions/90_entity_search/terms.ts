import type { Executor } from '../../../engine/Executor';

/** The function that says what the terms of an entity are. */
export const TERMS = 'entity_search_terms';

/** The collation by which PostgreSQL lower-cases the way that JavaScript does. */
const UNICODE_COLLATION = 'und-x-icu';

// As the search table of the stock catalog: longer keys are not there at all, and
// longer values count as null.
const MAX_LENGTH = 200;

/** What is not walked into: the stock catalog has rules of its own for these. */
const SPECIAL_PATHS = [
  'attachments',
  'relations',
  'status',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'metadata.etag',
];

// Places of terms, in the order in which the stock catalog comes to them: members
// whose key is an array index come before all others in JavaScript, and what it adds
// after the walk comes last.
const OTHER_KEYS = 2 ** 30;
const AFTER_THE_WALK = 2 ** 31 - 1;

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

/** What `String(value)` is of a JSON primitive; null for null. */
const TEXT = `case jsonb_typeof(node)
         when 'number' then (select ${NUMBER} from (select node::numeric) number (n))
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
export async function createTerms(executor: Executor): Promise<string> {
  const lower = await lowerCaseOf(executor);
  return `create or replace function ${TERMS}(entity jsonb, entity_id uuid)
  returns table (key text, value text, original_value text)
  language sql stable parallel safe rows 60 as $body$
with recursive walk (path, node, place) as (
  select ''::text, entity, '{}'::int[]
   union all
  select step.path, step.node, walk.place || step.place
    from walk, lateral (
      select member.path, member.node,
             member.position::int + case
               when member.key ~ '^(0|[1-9][0-9]{0,9})$' and member.key::bigint < 4294967295
               then 0 else ${OTHER_KEYS} end
        from (select case walk.path when '' then m.key else walk.path || '.' || m.key end,
                     m.key, m.value, m.position
                from jsonb_each(case jsonb_typeof(walk.node) when 'object' then walk.node else '{}' end)
                     with ordinality m (key, value, position)) member (path, key, node, position)
       where member.path <> all ('{${SPECIAL_PATHS}}')
       union all
      -- Each item, and true at each text.
      select case part when 0 then walk.path else walk.path || '.' || (item.node #>> '{}') end,
             case part when 0 then item.node else 'true' end,
             2 * item.position::int + part
        from jsonb_array_elements(case jsonb_typeof(walk.node) when 'array' then walk.node else '[]' end)
             with ordinality item (node, position),
             generate_series(0, (jsonb_typeof(item.node) = 'string')::int) part
    ) step (path, node, place)
   where jsonb_typeof(walk.node) in ('object', 'array')
     and cardinality(walk.place) < ${DEEPEST} and char_length(walk.path) <= ${
    2 * MAX_LENGTH
  }
), term (key, node, place) as (
  select path, node, place from walk where jsonb_typeof(node) not in ('object', 'array')
   union all
  select added.key, coalesce(added.node, 'null'), array[${AFTER_THE_WALK}, added.place]
    from (values
      ('metadata.name', entity #> '{metadata,name}', 0),
      ('metadata.namespace', entity #> '{metadata,namespace}', 1),
      ('metadata.uid', coalesce(nullif(entity #> '{metadata,uid}', 'null'), to_jsonb(entity_id)), 2)
    ) added (key, node, place)
   union all
  select 'metadata.namespace', '"default"', array[${AFTER_THE_WALK}, 3]
   where coalesce(entity #>> '{metadata,namespace}', '') = ''
   union all
  select 'relations.' || coalesce(relation.node ->> 'type', 'undefined'),
         coalesce(relation.node -> 'targetRef', 'null'),
         array[${AFTER_THE_WALK}, 3 + relation.position::int]
    from jsonb_array_elements(case jsonb_typeof(entity -> 'relations')
           when 'array' then entity -> 'relations' else '[]' end)
         with ordinality relation (node, position)
   where jsonb_typeof(relation.node) = 'object'
), written (key, original_value, place) as materialized (
  select ${lower('key')}, ${TEXT}, place from term
), lowered (key, value, original_value, place) as materialized (
  select key, ${lower('original_value')}, original_value, place
    from written where ${fits('key')}
), kept (key, value, original_value, place) as (
  select key, case when short then value end, case when short then original_value end, place
    from lowered, lateral (select ${fits('value')}) bounded (short)
)
select distinct on (key collate "C", value collate "C") key, value, original_value
  from kept
 order by key collate "C", value collate "C", place
$body$`;
}

/** A server without ICU lower-cases by the database's own collation. */
async function lowerCaseOf(
  executor: Executor,
): Promise<(text: string) => string> {
  const [{ found }] = await executor.read<{ found: boolean }>(
    `select exists (
       select from pg_catalog.pg_collation
        where collname = $1 and collnamespace = 'pg_catalog'::regnamespace
          and collencoding in (-1, pg_char_to_encoding(getdatabaseencoding()))
     ) as found`,
    [UNICODE_COLLATION],
  );
  return text =>
    found ? `lower(${text} collate "${UNICODE_COLLATION}")` : `lower(${text})`;
}
