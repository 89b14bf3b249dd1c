-- The registry of tenants (specification, B.1). Later columns are those of migrations in product/.

create table if not exists tenants (
  tenant_id uuid primary key default gen_random_uuid(),
  tenant_slug text not null
    constraint tenants_tenant_slug_key unique
    constraint tenants_tenant_slug_check check (tenant_slug ~ '^[a-z0-9-]+$'),
  tenant_name text not null,
  max_entities int default 50000,
  entity_ttl_days int default 365,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz
);
create index if not exists tenants_active_slug_idx on tenants (tenant_slug)
  where deleted_at is null;
comment on table tenants is 'The tenants of the catalog';
comment on column tenants.max_entities is 'How many live entities the tenant may have';
comment on column tenants.entity_ttl_days is 'For how many days deleted entities are kept';
comment on column tenants.deleted_at is 'Set while the tenant is deleted';
