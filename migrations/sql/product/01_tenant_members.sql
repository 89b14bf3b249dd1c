create table tenant_members (
  tenant_id uuid not null
    constraint tenant_members_tenant_id_fkey references tenants (tenant_id) on delete cascade,
  principal text not null,
  role text not null
    constraint tenant_members_role_check check (role in ('member', 'admin')),
  created_by text not null,
  created_at timestamptz not null default now(),
  constraint tenant_members_pkey primary key (tenant_id, principal)
);
-- For the tenants of one caller.
create index tenant_members_principal_idx on tenant_members (principal);
comment on table tenant_members is 'Who may enter which tenant';
comment on column tenant_members.principal is 'The reference of a user or group in the catalog of the default tenant, or the subject of an external service';
comment on column tenant_members.created_by is 'The user or service that added the member';
