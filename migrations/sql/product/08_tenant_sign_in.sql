create table tenant_sign_in (
  tenant_id uuid not null
    constraint tenant_sign_in_tenant_id_fkey references tenants (tenant_id) on delete cascade,
  provider jsonb not null
    constraint tenant_sign_in_provider_check check (jsonb_typeof(provider) = 'object'),
  updated_by text not null,
  updated_at timestamptz not null default now(),
  constraint tenant_sign_in_pkey primary key (tenant_id)
);
comment on table tenant_sign_in is 'The OpenID providers by which the people of tenants sign in';
comment on column tenant_sign_in.provider is 'Issuer, client, and a reference in place of the secret';
comment on column tenant_sign_in.updated_by is 'The user or service that wrote it last';
