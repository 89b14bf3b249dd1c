create table tenant_usage (
  tenant_id uuid not null
    constraint tenant_usage_tenant_id_fkey references tenants (tenant_id) on delete cascade,
  day date not null,
  requests bigint not null default 0,
  database_ms bigint not null default 0,
  people int not null default 0,
  entities jsonb not null default '{}',
  bytes bigint not null default 0,
  constraint tenant_usage_pkey primary key (tenant_id, day)
);
create table tenant_usage_people (
  tenant_id uuid not null
    constraint tenant_usage_people_tenant_id_fkey references tenants (tenant_id) on delete cascade,
  day date not null,
  person text not null,
  constraint tenant_usage_people_pkey primary key (tenant_id, day, person)
);
comment on table tenant_usage is 'What each tenant has used on each day (UTC)';
comment on column tenant_usage.database_ms is 'For how long its operations have had a connection';
comment on column tenant_usage.entities is 'How many entities of each kind it had when they were counted last';
comment on column tenant_usage.bytes is 'The size of these entities';
comment on table tenant_usage_people is 'Who was active on the current day and the one before; older rows are deleted';
