import type { ProductMigration } from '../engine/Step';
import { readSqlFile } from '../sqlFile';

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
 * - The file of that name in `sql/product` runs once, in one transaction with the record. The
 *   versions before it go on beside it, and do not know what it adds.
 * - `locks` says which locks it takes, for how long, and why that is safe; `tables` are those in
 *   use among them. A change that reads many rows is not for this list.
 * - `creates` names new tables, indexes and columns. Their names are refused where they are
 *   taken, the way back drops them, and `verify` and the start of a backend expect the tables,
 *   with the right to read and the policy that are given here. Columns of a table of this list need no entry.
 * - Name each constraint: `verify` expects those names.
 */
export const PRODUCT_MIGRATIONS: readonly ProductMigration[] = describeAll([
  {
    name: '01_tenant_members',
    title: 'Create the table tenant_members',
    ...NEW_TABLE,
    creates: {
      tables: { tenant_members: { read: true, kept: true } },
      indexes: ['tenant_members_principal_idx'],
    },
  },
  {
    name: '02_tenant_engines',
    title: 'Create the table tenant_engines',
    ...NEW_TABLE,
    creates: { tables: { tenant_engines: { read: true, kept: true } } },
  },
  {
    name: '03_engine_leases',
    title: 'Create the tables engine_processes and engine_leases',
    ...NEW_TABLE,
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
    creates: {},
  },
  {
    name: '07_tenant_invitations',
    title: 'Create the table tenant_invitations',
    ...NEW_TABLE,
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
    creates: { tables: { tenant_sign_in: { read: true, kept: true } } },
  },
  {
    name: '09_tenant_shares',
    title: 'Create the tables tenant_shares and tenant_share_copies',
    ...NEW_TABLE,
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
    creates: { tables: { retired_slugs: { read: false } } },
  },
  {
    name: '11_tenant_audit',
    title: 'Create the table tenant_audit',
    ...NEW_TABLE,
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
    creates: { columns: { tenants: ['read_only_until'] } },
  },
  {
    name: '14_engine_wakes',
    title: 'Add the columns wake_at and slept_with to engine_status',
    locks:
      'ACCESS EXCLUSIVE on engine_status, for a change of the catalog and an index of a row for ' +
      'each tenant. Blocks only what writes and reads the status of engines meanwhile.',
    tables: ['engine_status'],
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
    creates: {},
  },
  {
    name: '16_refused_events',
    title: 'Add the column refused_at to tenant_audit',
    locks:
      'ACCESS EXCLUSIVE on tenant_audit, for a change of the catalog. Blocks readers and writers ' +
      'of audit trails meanwhile.',
    tables: ['tenant_audit'],
    creates: {},
  },
]);

function describeAll(
  migrations: Omit<ProductMigration, 'sql'>[],
): ProductMigration[] {
  return migrations.map(each => ({
    ...each,
    sql: readSqlFile(`product/${each.name}`),
  }));
}

/** The tables that these create, and what the application sees of them. */
export const PRODUCT_TABLES = PRODUCT_MIGRATIONS.flatMap(({ creates }) =>
  Object.entries(creates.tables ?? {}).map(
    ([name, { read, policy = false }]) => ({ name, read, policy }),
  ),
);
