create table tenant_invitations (
  invitation_id uuid not null default gen_random_uuid(),
  tenant_id uuid not null
    constraint tenant_invitations_tenant_id_fkey references tenants (tenant_id) on delete cascade,
  token_hash bytea not null,
  role text not null
    constraint tenant_invitations_role_check check (role in ('viewer', 'member', 'admin')),
  email text,
  created_by text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  accepted_by text,
  accepted_at timestamptz,
  constraint tenant_invitations_pkey primary key (invitation_id)
);
create unique index tenant_invitations_token_hash_idx on tenant_invitations (token_hash);
create index tenant_invitations_tenant_id_idx on tenant_invitations (tenant_id, created_at);
comment on table tenant_invitations is 'Who may become a member of which tenant, once, by a link';
comment on column tenant_invitations.token_hash is 'SHA-256 of the token in the link, which is stored nowhere';
comment on column tenant_invitations.email is 'In lower case; only a user with this address in the catalog of the default tenant may accept. Null for whoever has the link';
comment on column tenant_invitations.created_by is 'The user or service that invites';
