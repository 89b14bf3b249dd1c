-- No column but the key is in an index: the updates, one a minute for a tenant at most, are HOT.
create table engine_status (
  tenant_id uuid not null
    constraint engine_status_tenant_id_fkey references tenants (tenant_id) on delete cascade,
  state text not null,
  reason text,
  last_error text,
  last_error_at timestamptz,
  caught_up_at timestamptz,
  process_id uuid,
  updated_at timestamptz not null default now(),
  constraint engine_status_pkey primary key (tenant_id)
);
comment on table engine_status is 'What the engine of a tenant does in the process that does its background work';
comment on column engine_status.last_error is 'Why the engine failed last, also after it has started since';
comment on column engine_status.caught_up_at is 'When the engine last had nothing left that was due';
comment on column engine_status.process_id is 'The process that wrote the row, in engine_processes while it lives';
