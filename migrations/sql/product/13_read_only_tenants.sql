alter table tenants add column read_only_until timestamptz;
comment on column tenants.read_only_until is 'Until when nothing of the tenant is changed, as it moves elsewhere; null for most';
