create table tenant_audit (
  tenant_id uuid not null
    constraint tenant_audit_tenant_id_fkey references tenants (tenant_id) on delete cascade,
  event_id uuid not null,
  at timestamptz not null,
  plugin text not null,
  event text not null,
  severity text not null,
  actor text,
  ip text,
  user_agent text,
  method text,
  path text,
  outcome text
    constraint tenant_audit_outcome_check check (outcome in ('succeeded', 'failed')),
  error text,
  meta jsonb not null default '{}',
  sent boolean,
  constraint tenant_audit_pkey primary key (tenant_id, event_id)
);
create index tenant_audit_at_idx on tenant_audit (tenant_id, at, event_id);
-- For the removal of old rows: rows arrive in the order of their time.
create index tenant_audit_age_idx on tenant_audit using brin (at);
create index tenant_audit_unsent_idx on tenant_audit (at) where sent = false;
comment on table tenant_audit is 'Who did what in which tenant, and with what outcome';
comment on column tenant_audit.actor is 'The user or service; null where nobody had signed in';
comment on column tenant_audit.outcome is 'Null until the operation ends, and for good where its process was killed before';
comment on column tenant_audit.sent is 'Whether the webhook has it; null where there was none';
