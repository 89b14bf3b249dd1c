import { OTHER, TEAM } from '../../partitions/__testUtils__/tenants';

/** The id of the tenant in the names of schemas. */
export const HEX = TEAM.replaceAll('-', '');

/** The tables of an engine or instance, as far as these tests need them. */
export function tablesIn(schema: string): string {
  return `
  create schema "${schema}";
  create table "${schema}".knex_migrations (id serial, name text);
  insert into "${schema}".knex_migrations (name) values ('1_init.js');
  create table "${schema}".counters (id int primary key);
  insert into "${schema}".counters values (1);
  create table "${schema}".states (
    id uuid primary key, ref text unique, n numeric, at timestamptz, raw bytea, more json);
  -- Filled before what it refers to, if by name.
  create table "${schema}".edges (
    id bigserial primary key, source text references "${schema}".states (ref));
  create index edges_source on "${schema}".edges (source) where source <> '';
  create unique index states_by_time on "${schema}".states (at, id);
  create function "${schema}".note() returns trigger language plpgsql as
    'begin new.n := 0; return new; end';
  create trigger note before insert on "${schema}".states
    for each row execute function "${schema}".note();
  alter table "${schema}".states enable always trigger note`;
}

/** The tables of plugins, which all tenants share. */
export const PLUGIN_TABLES = `
  create schema plugins;
  create table plugins.mockups (
    id uuid primary key default gen_random_uuid(), tenant_id uuid, owner text);
  create table plugins.mockup_versions (
    id uuid primary key default gen_random_uuid(), tenant_id uuid,
    mockup_id uuid references plugins.mockups on delete cascade,
    restored_from uuid, layout_data jsonb);
  create table plugins.mockup_pages (
    tenant_id uuid,
    version_id uuid primary key references plugins.mockup_versions deferrable initially deferred);
  create table plugins.mockup_comments (
    id uuid primary key default gen_random_uuid(), tenant_id uuid, mockup_id uuid, author text);
  create table plugins.mockup_ready_versions (
    tenant_id uuid, version_id uuid primary key references plugins.mockup_versions on delete cascade);
  create table plugins.mockup_settings (tenant_id uuid primary key, updated_by text);
  create table plugins.mockup_editors (tenant_id uuid, mockup_id uuid primary key);
  create table plugins.mockup_trash (id uuid primary key, tenant_id uuid);
  create function plugins.to_trash() returns trigger language plpgsql as
    'begin insert into plugins.mockup_trash values (old.id, old.tenant_id); return old; end';
  create trigger to_trash before delete on plugins.mockups
    for each row execute function plugins.to_trash();
  create table plugins.user_info (user_entity_ref text primary key, claims text);
  create table plugins.backstage_backend_tasks__tasks (id text primary key);
  create table plugins.notes (text text, ids uuid[], more jsonb)`;

/** What plugins keep: tables of all tenants, and schemas of one. */
export const PLUGINS = `${PLUGIN_TABLES};
  insert into plugins.mockups (tenant_id, owner)
  select t::uuid, 'user:my-team/ann'
    from unnest(array['${TEAM}', '${OTHER}']) t, generate_series(1, 3);
  insert into plugins.mockup_versions (tenant_id, mockup_id, layout_data)
  select tenant_id, id, '[{"n": 1.10, "text": "one\u2028line \\"ü\\""}]' from plugins.mockups;
  insert into plugins.mockup_pages select tenant_id, id from plugins.mockup_versions;
  insert into plugins.mockup_comments (tenant_id, mockup_id, author)
  select tenant_id, id, owner from plugins.mockups;
  insert into plugins.mockup_ready_versions select tenant_id, id from plugins.mockup_versions;
  insert into plugins.mockup_settings select tenant_id, min(owner) from plugins.mockups group by 1;
  insert into plugins.mockup_editors select tenant_id, id from plugins.mockups;
  insert into plugins.user_info values ('user:my-team/ann', '{}'), ('user:other/ann', '{}');
  insert into plugins.backstage_backend_tasks__tasks values
    ('tenant:${TEAM}:refresh'), ('tenant:${OTHER}:refresh');
  ${tablesIn(`tenant_${HEX}`)};
  insert into tenant_${HEX}.states values
    (gen_random_uuid(), 'a', 12345678901234567890.10, 'infinity', '\\x00ff', '{"b":  1, "a": 2}'),
    (gen_random_uuid(), 'b', null, now(), null, null);
  update tenant_${HEX}.states set n = 12345678901234567890.10 where ref = 'a';
  insert into tenant_${HEX}.edges (source) values ('a'), ('b'), ('a');
  create schema "tenant_${HEX}_user-settings";

  insert into tenancy.tenant_members (tenant_id, principal, role, created_by) values
    ('${TEAM}', 'user:default/bob', 'admin', 'user:default/bob'),
    ('${OTHER}', 'user:my-team/ann', 'viewer', 'user:default/bob'),
    ('${OTHER}', 'user:default/bob', 'admin', 'user:my-team/ann');
  insert into tenancy.tenant_shares (tenant_id, target_ids, filter, position, created_by) values
    ('${TEAM}', null, '{kind=api}', 1, 'user:default/bob'),
    ('${OTHER}', '{${TEAM}}', '{kind=api}', 1, 'user:default/bob'),
    ('${OTHER}', '{${TEAM},00000000-0000-0000-0000-000000000001}', '{kind=api}', 2, 'user:default/bob');
  update tenancy.tenants set deleted_at = now() - interval '400 days' where tenant_id = '${TEAM}'`;
