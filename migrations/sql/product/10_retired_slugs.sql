create table retired_slugs (
  tenant_slug text not null,
  tenant_digest bytea not null,
  tenant_id uuid,
  retired_at timestamptz not null default now(),
  constraint retired_slugs_pkey primary key (tenant_slug)
);
comment on table retired_slugs is 'Slugs of purged tenants: what others say of user:<slug>/<name> must never mean somebody else';
comment on column retired_slugs.tenant_digest is 'SHA-256 of the id as text, by which an export of the same tenant is told from others';
comment on column retired_slugs.tenant_id is 'The id, until the purge is complete';
