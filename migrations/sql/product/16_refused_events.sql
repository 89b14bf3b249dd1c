alter table tenant_audit add column refused_at timestamptz;
comment on column tenant_audit.refused_at is 'When the webhook last refused it; null where it has not, or has been sent again since';
