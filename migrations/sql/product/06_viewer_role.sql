alter table tenant_members
  drop constraint if exists tenant_members_role_check,
  add constraint tenant_members_role_check check (role in ('viewer', 'member', 'admin'));
