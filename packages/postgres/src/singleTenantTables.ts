/** The statements that create the tables of a catalog without tenants, as before phase 1. */
export const SINGLE_TENANT_TABLES = [
  'create schema tenancy',
  `create table tenancy.entities (
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
  )`,
  `create table tenancy.relations (
    originating_entity_id uuid not null references tenancy.entities on delete cascade,
    source_entity_ref text not null,
    type text not null,
    target_entity_ref text not null
  )`,
  'create index on tenancy.relations (originating_entity_id)',
  'create index on tenancy.relations (source_entity_ref)',
  'create index on tenancy.relations (target_entity_ref)',
  `create table tenancy.refresh_state (
    entity_id uuid primary key references tenancy.entities on delete cascade,
    location_key text,
    next_update_at timestamptz not null default now(),
    last_discovery_at timestamptz not null default now(),
    errors jsonb not null default '[]'
  )`,
  'create index on tenancy.refresh_state (next_update_at)',
];
