import type { Client } from 'pg';

const AROUND = `
  do $$ begin
    create role catalog_report nologin;
  exception when duplicate_object or unique_violation then null; end $$;
  do $$ begin
    execute format('grant usage on schema %I to catalog_report', current_schema);
  end $$;
  grant select on relations to catalog_report;
  grant select (entity_id, location_key) on refresh_state to catalog_report;
`;

/** The tables of a single-tenant catalog before phase 1, with no rows. */
export async function createCatalogTables(
  client: Pick<Client, 'query'>,
  schema = 'tenancy',
): Promise<void> {
  await client.query(`
    create schema if not exists ${schema};
    set search_path = ${schema}, public;
    create table entities (
      entity_id uuid primary key default gen_random_uuid(),
      entity_ref text not null unique,
      entity_kind text not null,
      entity_namespace text not null default 'default',
      entity_name text not null,
      final_entity jsonb not null,
      hash text not null,
      stitch_ticket text,
      created_at timestamptz not null default now(),
      updated_at timestamptz not null default now(),
      deleted_at timestamptz
    );
    create table relations (
      originating_entity_id uuid not null
        references entities (entity_id) on delete cascade,
      source_entity_ref text not null,
      type text not null,
      target_entity_ref text not null,
      weight numeric(6, 2) default 1,
      noted_at timestamptz not null default now()
    );
    create index relations_source_idx on relations (source_entity_ref);
    create index relations_origin_idx on relations (originating_entity_id);
    create table refresh_state (
      entity_id uuid primary key
        references entities (entity_id) on delete cascade,
      location_key text,
      next_update_at timestamptz not null default now(),
      errors jsonb,
      attempts int not null default 0
    );
  `);
}

/**
 * A catalog of so many entities, each with two relations and a refresh state, as
 * a team might have it: columns beyond the specification, and a role that only reads.
 *
 * @param options - `around`: false for the tables alone, which needs no superuser
 */
export async function seedCatalog(
  client: Pick<Client, 'query'>,
  options: { entities?: number; schema?: string; around?: boolean } = {},
): Promise<void> {
  const { entities = 200, schema = 'tenancy', around = true } = options;
  await createCatalogTables(client, schema);
  await client.query(`
    insert into entities (entity_ref, entity_kind, entity_namespace, entity_name,
                          final_entity, hash, deleted_at)
    select format('component:default/service-%s', i), 'component', 'default',
           format('service-%s', i),
           jsonb_build_object('kind', 'Component', 'metadata',
             jsonb_build_object('name', format('service-%s', i), 'n', i,
                                'description', repeat('é"\\', i % 50))),
           md5(i::text), case when i % 20 = 0 then now() end
      from generate_series(1, ${entities}) i;
    insert into relations (originating_entity_id, source_entity_ref, type, target_entity_ref)
    select e.entity_id, e.entity_ref, t.type, 'group:default/team-' || length(e.entity_name)
      from entities e, (values ('ownedBy'), ('dependsOn')) t (type);
    insert into refresh_state (entity_id, location_key, errors)
    select entity_id, 'url:' || entity_name, '[]' from entities;
    ${around ? AROUND : ''}
  `);
}
