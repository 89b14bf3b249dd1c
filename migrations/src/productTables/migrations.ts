import type { ProductMigration } from '../engine/Step';

/** The locks of a new table that refers to the registry. */
const NEW_TABLE = {
  locks:
    'New tables. The foreign key takes SHARE ROW EXCLUSIVE on tenants, for a change of the ' +
    'catalog: a change of the registry waits behind it.',
  tables: ['tenants'],
  mode: 'share row exclusive',
} as const;

/**
 * The tables of this product beside those of the specification, as an ordered list of
 * migrations. `adopt`, phase 5, `upgrade` and a backend that starts run those that are missing,
 * one after the other, under the operator's lock.
 *
 * To add one, append an entry, and never change one that a release has:
 *
 * - `name` takes the next number. It is recorded in `tenancy_migrations`.
 * - `sql` runs once, in one transaction with the record of the name. The versions before it go
 *   on beside it, and do not know what it adds.
 * - `locks` says which locks it takes, for how long, and why that is safe; `tables` are those in
 *   use among them. A change that reads many rows is not for this list.
 * - `creates` names new tables, indexes and columns. Their names are refused where they are
 *   taken, the way back drops them, and `verify` and the start of a backend expect the tables,
 *   with the right to read and the policy that are given here. Columns of a table of this list need no entry.
 * - Name each constraint: `verify` expects those names.
 */
export const PRODUCT_MIGRATIONS: readonly ProductMigration[] = [
  {
    name: '01_tenant_members',
    title: 'Create the table tenant_members',
    ...NEW_TABLE,
    sql: `
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
comment on column tenant_members.created_by is 'The user or service that added the member';`,
    creates: {
      tables: { tenant_members: { read: true, kept: true } },
      indexes: ['tenant_members_principal_idx'],
    },
  },
  {
    name: '02_tenant_engines',
    title: 'Create the table tenant_engines',
    ...NEW_TABLE,
    sql: `
create table tenant_engines (
  tenant_id uuid not null
    constraint tenant_engines_tenant_id_fkey references tenants (tenant_id) on delete cascade,
  catalog_config jsonb
    constraint tenant_engines_catalog_config_check check (jsonb_typeof(catalog_config) = 'object'),
  config_updated_at timestamptz,
  config_updated_by text,
  created_by text not null,
  created_at timestamptz not null default now(),
  disabled_at timestamptz,
  paused_at timestamptz,
  paused_by text,
  constraint tenant_engines_pkey primary key (tenant_id)
);
comment on table tenant_engines is 'How the catalog engines of tenants are configured';
comment on column tenant_engines.catalog_config is 'The configuration of the engine, with references in place of secrets';
comment on column tenant_engines.config_updated_by is 'The user or service that wrote the configuration';
comment on column tenant_engines.created_by is 'The user or service that configured the engine first';
comment on column tenant_engines.disabled_at is 'Not used any more';
comment on column tenant_engines.paused_at is 'Since when the engine ingests nothing and runs no scheduled task';
comment on column tenant_engines.paused_by is 'The user or service that paused it';`,
    creates: { tables: { tenant_engines: { read: true, kept: true } } },
  },
  {
    name: '03_engine_leases',
    title: 'Create the tables engine_processes and engine_leases',
    ...NEW_TABLE,
    sql: `
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
comment on table engine_leases is 'Which process does the background work of which tenant';`,
    // Engines use them, and their login acts as portal_admin.
    creates: {
      tables: {
        engine_processes: { read: false },
        engine_leases: { read: false },
      },
    },
  },
  {
    name: '04_engine_status',
    title: 'Create the table engine_status',
    ...NEW_TABLE,
    sql: `
-- No column but the key is in an index: the updates, one a minute for a tenant at most, are HOT.
create table engine_status (
  tenant_id uuid not null
    constraint engine_status_tenant_id_fkey references tenants (tenant_id) on delete cascade,
  state text not null,
  reason text,
  last_error text,
  last_error_at timestamptz,
  caught_up_at timestamptz,
  process_id uuid,
  updated_at timestamptz not null default now(),
  constraint engine_status_pkey primary key (tenant_id)
);
comment on table engine_status is 'What the engine of a tenant does in the process that does its background work';
comment on column engine_status.last_error is 'Why the engine failed last, also after it has started since';
comment on column engine_status.caught_up_at is 'When the engine last had nothing left that was due';
comment on column engine_status.process_id is 'The process that wrote the row, in engine_processes while it lives';`,
    // Reasons of failures may name what a tenant has configured.
    creates: { tables: { engine_status: { read: false } } },
  },
  {
    name: '05_tenant_limits',
    title: 'Add the columns for limits of single tenants to tenants',
    locks:
      'ACCESS EXCLUSIVE on tenants, for a change of the catalog and a scan of its few rows. ' +
      'Blocks readers of the registry and writers of rows of tenants meanwhile.',
    tables: ['tenants'],
    sql: `
-- What the API of the registry takes.
alter table tenants
  add column concurrency int
    constraint tenants_concurrency_check check (concurrency between 1 and 10000),
  add column requests_per_second int
    constraint tenants_requests_per_second_check check (requests_per_second between 1 and 1000000),
  add column burst int
    constraint tenants_burst_check check (burst between 1 and 1000000);
comment on column tenants.concurrency is 'How many operations the tenant may have under way in each process; null for the configured default';
comment on column tenants.requests_per_second is 'How many requests a second the tenant may send to each process; null for the configured default';
comment on column tenants.burst is 'How many of these requests may come at once; null for as many as in a second';`,
    creates: {
      columns: { tenants: ['concurrency', 'requests_per_second', 'burst'] },
    },
  },
  {
    name: '06_viewer_role',
    title: 'Allow the role viewer in tenant_members',
    locks:
      'ACCESS EXCLUSIVE on tenant_members, for a change of the catalog and a scan of its few ' +
      'rows. Blocks look-ups of members that are not cached meanwhile.',
    tables: ['tenant_members'],
    sql: `
alter table tenant_members
  drop constraint if exists tenant_members_role_check,
  add constraint tenant_members_role_check check (role in ('viewer', 'member', 'admin'));`,
    creates: {},
  },
  {
    name: '07_tenant_invitations',
    title: 'Create the table tenant_invitations',
    ...NEW_TABLE,
    sql: `
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
comment on column tenant_invitations.created_by is 'The user or service that invites';`,
    creates: {
      tables: { tenant_invitations: { read: true, kept: true } },
      indexes: [
        'tenant_invitations_token_hash_idx',
        'tenant_invitations_tenant_id_idx',
      ],
    },
  },
  {
    name: '08_tenant_sign_in',
    title: 'Create the table tenant_sign_in',
    ...NEW_TABLE,
    sql: `
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
comment on column tenant_sign_in.updated_by is 'The user or service that wrote it last';`,
    creates: { tables: { tenant_sign_in: { read: true, kept: true } } },
  },
  {
    name: '09_tenant_shares',
    title: 'Create the tables tenant_shares and tenant_share_copies',
    ...NEW_TABLE,
    sql: `
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
comment on column tenant_share_copies.conflicts is 'Copies that are left out, because the tenant has an entity of the same name';`,
    creates: {
      tables: {
        tenant_shares: { read: true, kept: true },
        tenant_share_copies: { read: true },
      },
      indexes: [
        'tenant_shares_tenant_id_idx',
        'tenant_share_copies_share_id_idx',
      ],
    },
  },
  {
    name: '10_retired_slugs',
    title: 'Create the table retired_slugs',
    locks: 'A new table, which refers to no other.',
    sql: `
create table retired_slugs (
  tenant_slug text not null,
  tenant_digest bytea not null,
  tenant_id uuid,
  retired_at timestamptz not null default now(),
  constraint retired_slugs_pkey primary key (tenant_slug)
);
comment on table retired_slugs is 'Slugs of purged tenants: what others say of user:<slug>/<name> must never mean somebody else';
comment on column retired_slugs.tenant_digest is 'SHA-256 of the id as text, by which an export of the same tenant is told from others';
comment on column retired_slugs.tenant_id is 'The id, until the purge is complete';`,
    creates: { tables: { retired_slugs: { read: false } } },
  },
  {
    name: '11_tenant_audit',
    title: 'Create the table tenant_audit',
    ...NEW_TABLE,
    sql: `
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
comment on column tenant_audit.sent is 'Whether the webhook has it; null where there was none';`,
    creates: {
      tables: { tenant_audit: { read: true, policy: true } },
      indexes: [
        'tenant_audit_at_idx',
        'tenant_audit_age_idx',
        'tenant_audit_unsent_idx',
      ],
    },
  },
  {
    name: '12_tenant_usage',
    title: 'Create the tables tenant_usage and tenant_usage_people',
    ...NEW_TABLE,
    sql: `
create table tenant_usage (
  tenant_id uuid not null
    constraint tenant_usage_tenant_id_fkey references tenants (tenant_id) on delete cascade,
  day date not null,
  requests bigint not null default 0,
  database_ms bigint not null default 0,
  people int not null default 0,
  entities jsonb not null default '{}',
  bytes bigint not null default 0,
  constraint tenant_usage_pkey primary key (tenant_id, day)
);
create table tenant_usage_people (
  tenant_id uuid not null
    constraint tenant_usage_people_tenant_id_fkey references tenants (tenant_id) on delete cascade,
  day date not null,
  person text not null,
  constraint tenant_usage_people_pkey primary key (tenant_id, day, person)
);
comment on table tenant_usage is 'What each tenant has used on each day (UTC)';
comment on column tenant_usage.database_ms is 'For how long its operations have had a connection';
comment on column tenant_usage.entities is 'How many entities of each kind it had when they were counted last';
comment on column tenant_usage.bytes is 'The size of these entities';
comment on table tenant_usage_people is 'Who was active on the current day and the one before; older rows are deleted';`,
    creates: {
      tables: {
        tenant_usage: { read: true, policy: true },
        tenant_usage_people: { read: false },
      },
    },
  },
  {
    name: '13_read_only_tenants',
    title: 'Add the column read_only_until to tenants',
    locks:
      'ACCESS EXCLUSIVE on tenants, for a change of the catalog. Blocks readers of the registry ' +
      'and writers of rows of tenants meanwhile.',
    tables: ['tenants'],
    sql: `
alter table tenants add column read_only_until timestamptz;
comment on column tenants.read_only_until is 'Until when nothing of the tenant is changed, as it moves elsewhere; null for most';`,
    creates: { columns: { tenants: ['read_only_until'] } },
  },
  {
    name: '14_engine_wakes',
    title: 'Add the columns wake_at and slept_with to engine_status',
    locks:
      'ACCESS EXCLUSIVE on engine_status, for a change of the catalog and an index of a row for ' +
      'each tenant. Blocks only what writes and reads the status of engines meanwhile.',
    tables: ['engine_status'],
    sql: `
alter table engine_status add column wake_at timestamptz, add column slept_with text;
-- What is due for whom is one look-up for all tenants. Engines write it when they fall asleep
-- and when they wake; all other updates stay HOT.
create index engine_status_wake_at_idx on engine_status (wake_at);
comment on column engine_status.wake_at is 'When the engine, which no process runs, is next to be started; null while one is to run it';
comment on column engine_status.slept_with is 'The digest of what the engine ran with: with another configuration or release it is started';`,
    creates: {
      columns: { engine_status: ['wake_at', 'slept_with'] },
      indexes: ['engine_status_wake_at_idx'],
    },
  },
  {
    name: '15_gin_lists',
    title: 'Let the GIN indexes of entities collect new entries',
    locks:
      'ACCESS EXCLUSIVE on the table entities, where it is there, for changes of the catalog. ' +
      'Blocks its readers and writers meanwhile.',
    tables: ['entities'],
    sql: `
do $$
declare
  leaf regclass;
begin
  for leaf in
    select t.relid
      from unnest('{entities_partitioned_live_name_idx,entities_partitioned_final_entity_idx}'::text[]) parent,
           lateral pg_partition_tree(to_regclass(parent)) t
     where t.isleaf
  loop
    execute format('alter index %s set (fastupdate = on, gin_pending_list_limit = 64)', leaf);
  end loop;
end $$;`,
    creates: {},
  },
];

/** The tables that these create, and what the application sees of them. */
export const PRODUCT_TABLES = PRODUCT_MIGRATIONS.flatMap(({ creates }) =>
  Object.entries(creates.tables ?? {}).map(
    ([name, { read, policy = false }]) => ({ name, read, policy }),
  ),
);
