import { resolvePackagePath } from '@backstage/backend-plugin-api';
import createKnex, { type Knex } from 'knex';
import type { Client } from 'pg';
import type { LiveDatabase } from './LiveDatabase';

const directory = resolvePackagePath(
  '@backstage/plugin-catalog-backend',
  'migrations',
);

/** Runs something with Knex, as the stock catalog does, with its login. */
export async function asEngine<T>(
  database: LiveDatabase,
  use: (knex: Knex) => Promise<T>,
): Promise<T> {
  const knex = createKnex({
    client: 'pg',
    connection: database.engine,
    // One session, as long as it lasts.
    pool: { min: 1, max: 1 },
  });
  try {
    return await use(knex);
  } finally {
    await knex.destroy();
  }
}

/** All migrations of the stock catalog, up to its newest. */
export async function migrateStock(knex: Knex): Promise<void> {
  await knex.migrate.latest({ directory });
}

/** One migration, and its name; none where there are no more. */
export async function migrateOne(
  knex: Knex,
  direction: 'up' | 'down',
): Promise<string | undefined> {
  const [, [name]] = await knex.migrate[direction]({ directory });
  return name && String(name).replace(/^.*\//, '');
}

export const ENTITIES = 12;

/** Entities as the engine has them once they are stitched. */
export async function seedEngine(client: Client): Promise<void> {
  await client.query(
    `with e as (
       select n, gen_random_uuid()::text as id, 'component:default/service-' || n as ref
         from generate_series(1, ${ENTITIES}) n),
     state as (
       insert into public.refresh_state
         (entity_id, entity_ref, unprocessed_entity, unprocessed_hash, processed_entity,
          errors, next_update_at, last_discovery_at, location_key)
       select id, ref, '{}', '', '{}', '[]', now() + interval '1 day', now(), 'here'
         from e returning entity_id),
     final as (
       insert into public.final_entities
         (entity_id, entity_ref, hash, final_entity, last_updated_at)
       select id, ref, 'first',
              json_build_object('kind', 'Component', 'metadata',
                json_build_object('name', 'service-' || n), 'spec',
                json_build_object('version', n))::text, now()
         from e join state on entity_id = id returning entity_id),
     related as (
       insert into public.relations
         (originating_entity_id, source_entity_ref, type, target_entity_ref)
       select id, ref, 'ownedBy', 'group:default/team' from e)
     insert into public.refresh_state_references (source_entity_ref, target_entity_ref)
     select 'component:default/service-1', ref from e`,
  );
}

/**
 * Changes whatever there is to change of some entities, with statements that
 * run however the tables look. Each must succeed.
 */
export async function writeAsEngine(knex: Knex): Promise<void> {
  const { rows } = await knex.raw(
    `select table_name as table, array_agg(column_name::text) as columns
       from information_schema.columns where table_schema = 'public' group by 1`,
  );
  const columnsOf = new Map<string, string[]>(
    rows.map((row: { table: string; columns: string[] }) => [
      row.table,
      row.columns,
    ]),
  );
  const has = (table: string, ...columns: string[]) =>
    columns.every(column => columnsOf.get(table)?.includes(column));
  for (const table of [
    'final_entities',
    'relations',
    'refresh_state',
    'refresh_state_references',
  ]) {
    for (const column of columnsOf.get(table) ?? []) {
      // Nothing changes but for the triggers, which do not know.
      await knex.raw('update ?? set ?? = ??', [table, column, column]);
    }
  }
  if (has('final_entities', 'hash')) {
    await knex.raw(`update final_entities set hash = hash || 'x'`);
  }
  if (has('refresh_state', 'location_key')) {
    await knex.raw(
      `update refresh_state set location_key = location_key || 'x'`,
    );
  }
  if (has('refresh_state', 'next_update_at')) {
    await knex.raw(
      `update refresh_state set next_update_at = now() + interval '1 day'`,
    );
  }
  if (has('relations', 'type')) {
    await knex.raw(
      `insert into relations
       select * from relations where ctid in (select min(ctid) from relations)`,
    );
    await knex.raw(
      `delete from relations where ctid in (select max(ctid) from relations)`,
    );
  }
}

/** Deletes the newest entity, as the engine does. */
export async function deleteOne(knex: Knex): Promise<void> {
  await knex.raw(
    `delete from refresh_state where entity_id in
       (select entity_id from refresh_state order by entity_ref limit 1)`,
  );
}
