-- Logged: a crash or a failover that emptied the tables would let a process take tenants whose
-- leases another one still counts as its own. Each process updates its row every few seconds;
-- expires_at is in no index, so that the update is a HOT one, and any access to the page prunes
-- the row's earlier versions: neither a fillfactor nor a vacuum of its own is needed.
create table engine_processes (
  process_id uuid not null,
  name text not null,
  started_at timestamptz not null default now(),
  expires_at timestamptz not null,
  constraint engine_processes_pkey primary key (process_id)
);
create table engine_leases (
  tenant_id uuid not null
    constraint engine_leases_tenant_id_fkey references tenants (tenant_id) on delete cascade,
  process_id uuid not null
    constraint engine_leases_process_id_fkey references engine_processes (process_id) on delete cascade,
  since timestamptz not null default now(),
  constraint engine_leases_pkey primary key (tenant_id)
);
comment on table engine_processes is 'The processes that divide the background work of tenants among themselves';
comment on column engine_processes.name is 'For people: host and process id';
comment on column engine_processes.expires_at is 'When others may end its sessions and take its leases';
comment on table engine_leases is 'Which process does the background work of which tenant';
