import { APP_LOGIN, SCHEMA } from '../catalog/constants';
import type { JsonQuestion } from './questions';
import { TENANT_ID } from './database';

/** What the candidates need that go by `final_entity`. */
export const CREATE_JSON_INDEXES = [
  // Where its operators are depends on who has created the extension.
  `set search_path = ${SCHEMA}, public`,
  'create extension if not exists pg_trgm',
  `create index candidates_json_idx on ${SCHEMA}.entities
     using gin (final_entity jsonb_path_ops) where deleted_at is null`,
  `create index candidates_name_idx on ${SCHEMA}.entities
     using gin (lower(entity_name) gin_trgm_ops) where deleted_at is null`,
  `vacuum (analyze) ${SCHEMA}.entities`,
];

/**
 * What a page is, from `final_entity`. It finds less than the stock catalog would: it
 * knows neither letters of another case, nor keys with dots, nor values in lists of
 * any depth. Who made it find all of that would make it slower.
 */
function pageSql(tenant: string): string {
  return `
    with found as materialized (
      select entity_id, lower(entity_name) as name from ${SCHEMA}.entities
       where tenant_id = ${tenant} and deleted_at is null
         and ($1::jsonb is null or final_entity @> $1)
         and ($2::text is null or lower(entity_name) like $2)
    ), page as (
      select * from found order by name, entity_id limit 20
    )
    select e.final_entity::text as entity, (select count(*)::int from found) as total
      from page join ${SCHEMA}.entities e using (entity_id)
     where e.tenant_id = ${tenant} order by page.name, page.entity_id`;
}

/** The tenant that is set. */
const CURRENT = `nullif(current_setting('app.tenant_id', true), '')::uuid`;

/** A function that no policy binds, and that looks at the tenant that is set alone. */
export const CREATE_FUNCTION = [
  `create function ${SCHEMA}.candidates_page(jsonb, text)
     returns table (entity text, total int)
     language plpgsql stable security definer
     set search_path = pg_catalog, ${SCHEMA}, public, pg_temp as $body$
   begin
     -- With its values: a plan for any values would not use an index.
     return query execute $sql$${pageSql(CURRENT)}$sql$ using $1, $2;
   end $body$`,
  `alter function ${SCHEMA}.candidates_page(jsonb, text) owner to portal_admin`,
  `revoke all on function ${SCHEMA}.candidates_page(jsonb, text) from public`,
  `grant execute on function ${SCHEMA}.candidates_page(jsonb, text) to ${APP_LOGIN}`,
];

/** The statement of a candidate that goes by `final_entity`, and its values. */
export function jsonStatement(
  question: JsonQuestion,
  by: 'function' | 'policy',
): { text: string; values: Array<string | null> } {
  const { contains, like } = question;
  const values = [contains ? JSON.stringify(contains) : null, like ?? null];
  return by === 'function'
    ? { text: `select * from ${SCHEMA}.candidates_page($1, $2)`, values }
    : { text: pageSql(`'${TENANT_ID}'`), values };
}
