create table tenant_shares (
  share_id uuid not null default gen_random_uuid(),
  tenant_id uuid not null
    constraint tenant_shares_tenant_id_fkey references tenants (tenant_id) on delete cascade,
  target_ids uuid[],
  filter text[] not null,
  owner text,
  position int not null
    constraint tenant_shares_position_check check (position between 0 and 1000),
  created_by text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint tenant_shares_pkey primary key (share_id)
);
create index tenant_shares_tenant_id_idx on tenant_shares (tenant_id);
create table tenant_share_copies (
  tenant_id uuid not null
    constraint tenant_share_copies_tenant_id_fkey references tenants (tenant_id) on delete cascade,
  -- No key to tenant_shares: a row of a share that has ended says that copies are to be removed.
  share_id uuid not null,
  copies int not null,
  conflicts int not null,
  constraint tenant_share_copies_pkey primary key (tenant_id, share_id)
);
create index tenant_share_copies_share_id_idx on tenant_share_copies (share_id);
comment on table tenant_shares is 'Entities of one tenant of which others get copies';
comment on column tenant_shares.tenant_id is 'The tenant that shares';
comment on column tenant_shares.target_ids is 'The tenants that receive; null for all';
comment on column tenant_shares.filter is 'Which entities, each as a filter of /api/catalog/entities; one is enough';
comment on column tenant_shares.owner is 'The reference of what owns the copies whose own owner is not shared';
comment on table tenant_share_copies is 'How many copies of a share a tenant has';
comment on column tenant_share_copies.tenant_id is 'The tenant that receives';
comment on column tenant_share_copies.conflicts is 'Copies that are left out, because the tenant has an entity of the same name';
