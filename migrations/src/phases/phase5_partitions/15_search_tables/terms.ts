import type { Executor } from '../../../engine/Executor';
import { termKeySql } from './keys';

/** The function that derives the terms of an entity. */
export const TERMS = 'entity_terms_of';

/** The functions that it calls for numbers and for long texts, of which most entities have few. */
export const WRITE_NUMBER = 'entity_terms_number';
export const FITS = 'entity_terms_fits';

/** The collation with which lower() equals JavaScript's toLowerCase. */
const UNICODE_COLLATION = 'und-x-icu';

// The limits of the stock catalog's search table: it leaves out longer keys, and stores null
// for longer values.
const MAX_LENGTH = 200;

/** The paths of an entity that the stock catalog does not index by its general rule. */
const SPECIAL_SEARCH_PATHS: readonly string[] = [
  'attachments',
  'relations',
  'status',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'metadata.etag',
];

/** The length of the longest of these paths. */
const LONGEST_SPECIAL_PATH = Math.max(
  ...SPECIAL_SEARCH_PATHS.map(({ length }) => length),
);

// The places of terms in the order of the stock catalog's traversal: in JavaScript members
// whose key is an array index come first, and terms added after the traversal last. A place
// is a bytea with one number for each level, whose byte order is that of the numbers; it
// costs less to append to and to compare than an array.
const OTHER_KEYS = 2 ** 30;
const AFTER_THE_WALK = `'\\x7fffffff'::bytea`;
const BYTES_OF_A_LEVEL = 4;

// A registered entity may have thousands of levels, and each level holds all those below.
// Keys of so many levels are too long to be stored; the limit leaves out nested lists only.
const DEEPEST = 128;

// PostgreSQL and JavaScript both print the shortest digits of a double, in different forms:
// JavaScript has no exponent from 1e-6 to 1e21, and no leading zero in an exponent. Numbers
// out of PostgreSQL's range of doubles are Infinity or 0 in JavaScript.
const NUMBER = `case
         when abs(n) >= 1.797693134862315808e308 then case when n < 0 then '-Infinity' else 'Infinity' end
         when abs(n) <= 2.4703282292062328e-324 then '0'
         when abs(n) >= 9007199254740992 and abs(n) < 1e40 then (${largeNumber(
           'n::float8',
         )})
         when abs(n::float8) >= 1e-6 and abs(n) < 9007199254740992 then n::float8::text::numeric::text
         else regexp_replace(n::float8::text, 'e([+-])0', 'e\\1')
       end`;

/**
 * Beyond 2^53 a number with fewer digits may be half-way between two doubles, and is parsed
 * as the even one. JavaScript prints such a number, PostgreSQL does not.
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

/** SQL for `String(value)` of a JSON primitive; null for null, which has the kind n too. */
const TEXT = `case kind
         when 'n' then ${WRITE_NUMBER}((node #>> '{}')::numeric)
         else node #>> '{}'
       end`;

/**
 * Whether a text is within the limit by JavaScript's `length`. It tests the number of bytes
 * first, which is never less and costs nothing.
 */
function fits(text: string): string {
  return `(octet_length(${text}) <= ${MAX_LENGTH} or ${FITS}(${text}))`;
}

// Apart from the query of terms, because PostgreSQL sets up each expression of a query whenever
// it runs: with these two in it, the terms of an entity took twice as long.

/** The statement that creates {@link WRITE_NUMBER}. Most numbers need no query. */
export const CREATE_WRITE_NUMBER = `create or replace function ${WRITE_NUMBER}(n numeric) returns text
  language plpgsql stable strict parallel safe as $body$
begin
  if abs(n) between 1e-6 and 9007199254740991 then
    return n::float8::text::numeric::text;
  end if;
  return ${NUMBER};
end $body$`;

// JavaScript counts a character beyond the basic plane as two.
const CREATE_FITS = `create or replace function ${FITS}(long text) returns boolean
  language plpgsql immutable strict parallel safe as $body$
begin
  return char_length(long) <= ${MAX_LENGTH}
    and 2 * char_length(long)
        - char_length(regexp_replace(long, '[\\U00010000-\\U0010ffff]', '', 'g')) <= ${MAX_LENGTH};
end $body$`;

/**
 * The statements that create the function, and those that it calls. It returns the rows that
 * the stock catalog writes into its table `search` for an entity, independent of the order of
 * keys, with the keys and values in the form of entity_terms.
 *
 * Unlike its `buildEntitySearch`, this descends 128 levels at the most. That one refuses an
 * entity with keys that differ only in case; this returns the rows of both. Of rows that
 * differ only in `original_value`, it keeps the first.
 */
export async function createTerms(
  executor: Pick<Executor, 'read'>,
): Promise<string[]> {
  const lower = await lowerCaseOf(executor);
  const terms = `create or replace function ${TERMS}(entity jsonb, entity_id uuid)
  returns table (key text, value text, original_value text)
  language sql stable parallel safe rows 60 as $body$
with recursive document (root) as materialized (
  -- What is stored compressed is read once.
  select entity #> '{}'
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
      ('metadata.uid', coalesce(nullif(metadata -> 'uid', 'null'), to_jsonb(entity_id)), 2),
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
select ${termKeySql('key')} as key, value,
       coalesce(nullif(original_value collate "C", value collate "C"), '') as original_value
  from (select distinct on (key collate "C", value collate "C") key, value, original_value
          from kept
         order by key collate "C", value collate "C", place) term
$body$`;
  return [CREATE_WRITE_NUMBER, CREATE_FITS, terms];
}

/** The first letter of `jsonb_typeof`: number and null have the same. */
function kindOf(node: string): string {
  return `jsonb_typeof(${node})::"char"`;
}

/**
 * SQL that lower-cases a text. Most texts are ASCII, which their length in bytes shows: for
 * these the collation C takes half the time of ICU. In a single-byte encoding the length
 * shows nothing. A server without ICU uses the database's collation, after that of C: in
 * Turkish an I would become a dotless one.
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
      return `lower(lower(${text} collate "C") collate "default")`;
    }
    return multibyte
      ? `case when octet_length(${text}) = char_length(${text})
              then lower(${text} collate "C") else ${unicode} collate "C" end`
      : unicode;
  };
}
