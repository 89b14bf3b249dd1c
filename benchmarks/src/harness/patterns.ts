import type { Client } from 'pg';
import { createEntities } from './entities';

/** Ends the name of each pattern, and stands for what tells its copies apart. */
const MARK = '-any-copy';

/**
 * Creates `source.patterns`: the first entities, of which a database is filled with copies in
 * SQL. To send a million entities would take long.
 */
export async function createPatterns(
  client: Client,
  count: number,
): Promise<void> {
  const patterns = createEntities(0, count).map(({ entity }, number) => {
    const { uid: _uid, ...metadata } = entity.metadata;
    const name = `${metadata.name}${MARK}`;
    return {
      number,
      kind: entity.kind.toLowerCase(),
      namespace: metadata.namespace,
      name,
      json: JSON.stringify({ ...entity, metadata: { ...metadata, name } }),
    };
  });
  await client.query('create schema source');
  await client.query(
    `create table source.patterns as
     select * from jsonb_to_recordset($1::jsonb) as row (
       number int, kind text, namespace text, name text, json text)`,
    [JSON.stringify(patterns)],
  );
}

/** The columns of `entities` that {@link copyStatement} fills. */
export const COPY_COLUMNS =
  'entity_id, entity_ref, entity_kind, entity_namespace, entity_name, final_entity, hash, ' +
  'created_at, updated_at';

/**
 * A query for the rows of a copy.
 *
 * @param copy - SQL for the text that follows a dash at the end of all names
 * @param offset - SQL for the seconds by which its entities are younger
 */
export function copyStatement(copy: string, offset: string): string {
  const name = `replace(name, '${MARK}', '-' || ${copy})`;
  const time = `timestamptz '2025-01-01' + (number * 10000 + ${offset}) * interval '1 second'`;
  return `select md5(${copy} || ' ' || number)::uuid as entity_id,
         kind || ':' || namespace || '/' || ${name} as entity_ref,
         kind as entity_kind, namespace as entity_namespace, ${name} as entity_name,
         replace(json, '${MARK}', '-' || ${copy})::jsonb as final_entity,
         md5(number::text) as hash, ${time} as created_at, ${time} as updated_at
    from source.patterns`;
}
