import type { Knex } from 'knex';
import type { ValueText } from './values';

/** What is not walked into: the stock catalog has rules of its own for these. */
export const SPECIAL_PATHS: readonly string[] = [
  'attachments',
  'relations',
  'status',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'metadata.etag',
];

/**
 * The JSON primitives that the entity `e` has at a flattened key, as the rows of a
 * sub-query with one column, `node`.
 *
 * They are the rows that the stock catalog would keep in its search table: keys are
 * joined by dots and compared in any case, arrays are passed through, and an array
 * has `true` at each of its strings. Keys may hold dots themselves, so each member
 * is followed whose path is a beginning of the key.
 */
export function searchRows(knex: Knex, text: ValueText, key: string): Knex.Raw {
  const walk = walkedRows(knex, text, key);
  return key.startsWith('relations.')
    ? knex.raw('(? union all ?)', [walk, relationRows(knex, text, key)])
    : knex.raw('(?)', [walk]);
}

function walkedRows(knex: Knex, text: ValueText, key: string): Knex.Raw {
  const isKey = (path: Knex.Raw) => knex.raw('? = ?', [text.lower(path), key]);
  return knex.raw(
    `with recursive walk (path, node) as (
       select ''::text, e.final_entity
       union all
       select step.path, step.node from walk, lateral (
         select member.path, member.node from (
           select case walk.path when '' then m.key else walk.path || '.' || m.key end as path,
                  m.value as node
             from jsonb_each(case jsonb_typeof(walk.node) when 'object' then walk.node else '{}' end) m
           ) member
          where member.path <> all ('{${SPECIAL_PATHS}}') and ?
         union all
         select walk.path, item.node
           from jsonb_array_elements(case jsonb_typeof(walk.node) when 'array' then walk.node else '[]' end) item (node)
         union all
         select walk.path || '.' || (item.node #>> '{}'), 'true'
           from jsonb_array_elements(case jsonb_typeof(walk.node) when 'array' then walk.node else '[]' end) item (node)
          where jsonb_typeof(item.node) = 'string' and ?
       ) step
     )
     select walk.node from walk
      where jsonb_typeof(walk.node) not in ('object', 'array') and ?`,
    [
      leadsToKey(knex, text, key),
      isKey(knex.raw(`walk.path || '.' || (item.node #>> '{}')`)),
      isKey(knex.raw('walk.path')),
    ],
  );
}

/** Whether a member's path is the key, or a beginning of it. */
function leadsToKey(knex: Knex, text: ValueText, key: string): Knex.Raw {
  const path = text.lower(knex.raw('member.path'));
  // How a sigma is lower-cased depends on what follows it, and more may follow.
  return /[σς]/.test(key)
    ? knex.raw(
        `(member.path = '' or starts_with(?, translate(?, 'ς', 'σ') || '.'))`,
        [`${key.replaceAll('ς', 'σ')}.`, path],
      )
    : knex.raw(`(member.path = '' or starts_with(?, ? || '.'))`, [
        `${key}.`,
        path,
      ]);
}

/** `relations.<type>` is the ref of each relation of the type. */
function relationRows(knex: Knex, text: ValueText, key: string): Knex.Raw {
  return knex.raw(
    `select coalesce(relation.node -> 'targetRef', 'null')
       from jsonb_array_elements(
              case jsonb_typeof(e.final_entity -> 'relations')
                when 'array' then e.final_entity -> 'relations' else '[]' end) relation (node)
      where ? = ?`,
    [text.lower(knex.raw(`'relations.' || (relation.node ->> 'type')`)), key],
  );
}
