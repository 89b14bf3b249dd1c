create table tenant_engines (
  tenant_id uuid not null
    constraint tenant_engines_tenant_id_fkey references tenants (tenant_id) on delete cascade,
  catalog_config jsonb
    constraint tenant_engines_catalog_config_check check (jsonb_typeof(catalog_config) = 'object'),
  config_updated_at timestamptz,
  config_updated_by text,
  created_by text not null,
  created_at timestamptz not null default now(),
  disabled_at timestamptz,
  paused_at timestamptz,
  paused_by text,
  constraint tenant_engines_pkey primary key (tenant_id)
);
comment on table tenant_engines is 'How the catalog engines of tenants are configured';
comment on column tenant_engines.catalog_config is 'The configuration of the engine, with references in place of secrets';
comment on column tenant_engines.config_updated_by is 'The user or service that wrote the configuration';
comment on column tenant_engines.created_by is 'The user or service that configured the engine first';
comment on column tenant_engines.disabled_at is 'Not used any more';
comment on column tenant_engines.paused_at is 'Since when the engine ingests nothing and runs no scheduled task';
comment on column tenant_engines.paused_by is 'The user or service that paused it';
