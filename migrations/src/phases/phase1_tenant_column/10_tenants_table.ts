import type { Step } from '../../engine/Step';

const CREATE_TABLE = `create table if not exists tenants (
  tenant_id uuid primary key default gen_random_uuid(),
  tenant_slug text not null
    constraint tenants_tenant_slug_key unique
    constraint tenants_tenant_slug_check check (tenant_slug ~ '^[a-z0-9-]+$'),
  tenant_name text not null,
  max_entities int default 50000,
  entity_ttl_days int default 365,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz
)`;

const COMMENTS = [
  `comment on table tenants is 'The tenants of the catalog'`,
  `comment on column tenants.max_entities is 'How many live entities the tenant may have'`,
  `comment on column tenants.entity_ttl_days is 'For how many days deleted entities are kept'`,
  `comment on column tenants.deleted_at is 'Set while the tenant is deleted'`,
];

/** The registry of tenants (specification, B.1). */
export const tenantsTable: Step = {
  name: '1_10_tenants_table',
  title: 'Create the table tenants',

  creates: [
    'tenants',
    'tenants_pkey',
    'tenants_tenant_slug_key',
    'tenants_active_slug_idx',
  ],

  async up({ executor }) {
    await executor.transaction({
      title: 'Create the table tenants',
      locks: 'A new table, which no session uses yet.',
      statements: [
        CREATE_TABLE,
        `create index if not exists tenants_active_slug_idx on tenants (tenant_slug)
  where deleted_at is null`,
        ...COMMENTS,
      ],
    });
  },

  async down({ executor }) {
    await executor.transaction({
      title: 'Drop the table tenants',
      locks:
        'ACCESS EXCLUSIVE on tenants, for a change of the catalog. Nothing ' +
        'references it any more.',
      tables: ['tenants'],
      statements: ['drop table if exists tenants'],
    });
  },
};
