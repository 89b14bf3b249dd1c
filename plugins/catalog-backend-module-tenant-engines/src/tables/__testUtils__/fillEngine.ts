/**
 * Fills an engine's tables with entities that no engine has a reason to change: nothing is due,
 * and none is an orphan. Values: a text that the ids derive from, the number of entities.
 *
 * @param schema - of the engine
 * @param more - SQL: terms, as rows of `entity_id, key, value, original_value`, and the `spec`; both
 * of rows `e` with `id`, `ref` and `n`
 */
export function fillEngine(
  schema: string,
  more: { terms: string; spec: string },
): string {
  return `with e as (
     select 'component:default/e' || n as ref, n, md5($1 || n)::uuid::text as id
       from generate_series(1, $2::int) as n),
   states as (
     insert into ${schema}.refresh_state (entity_id, entity_ref, unprocessed_entity, unprocessed_hash,
       processed_entity, result_hash, errors, cache, next_update_at, last_discovery_at)
     select id, ref, '{}', '', '{}', '', '[]', '{}', now() + interval '1 day', now() from e),
   parents as (
     insert into ${schema}.refresh_state_references (source_entity_ref, target_entity_ref)
     select 'component:default/e1', ref from e),
   found as (
     insert into ${schema}.search (entity_id, key, value, original_value) ${more.terms})
   insert into ${schema}.final_entities (entity_id, entity_ref, hash, final_entity)
   select id, ref, 'h', jsonb_build_object('apiVersion', 'backstage.io/v1alpha1', 'kind', 'Component',
     'metadata', jsonb_build_object('name', 'e' || n, 'namespace', 'default', 'uid', id),
     'spec', ${more.spec})::text from e`;
}
