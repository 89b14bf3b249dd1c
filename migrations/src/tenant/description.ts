import { ADOPTION_STATE } from '../adopt/state';
import { OWN_TABLES } from '../ownTables';
import {
  ENGINE_STATUS_TABLE,
  LEASES_TABLE,
  RETIRED_TABLE,
  SEARCH_TABLES,
} from '../schema/tables';

// What belongs to a tenant: rows of tables that all tenants share, and schemas of its own, with
// tables of any name. Exports, imports, moves and purges read it here.

/** A table that all tenants share. */
interface SharedTable {
  name: string;
  /** Processes or triggers make its rows: no export has them. */
  isDerived?: true;
  /** A replacement by an export leaves its rows: the tenant, who did what, and what it used. */
  isKept?: true;
  /** Some rows become others or are left out, also under the same id and slug. */
  isRewritten?: true;
  /** Columns with keys that are unique among all tenants: another tenant id changes them. */
  keys?: readonly string[];
}

const OF_REGISTRY: Record<string, Omit<SharedTable, 'name'>> = {
  tenants: { isKept: true, isRewritten: true },
  tenant_invitations: { isRewritten: true },
  tenant_shares: { isRewritten: true, keys: ['share_id'] },
  tenant_audit: { isKept: true },
  tenant_usage: { isKept: true },
  tenant_usage_people: { isKept: true },
  tenant_share_copies: { isDerived: true },
  [SEARCH_TABLES[0]]: { isDerived: true },
  [ADOPTION_STATE]: { isDerived: true },
  [ENGINE_STATUS_TABLE]: { isDerived: true },
  [LEASES_TABLE]: { isDerived: true },
  [RETIRED_TABLE]: { isDerived: true },
};

/**
 * The tables of this product: the registry, then the entities, then what refers to them. Those of
 * before the swap have the default tenant alone.
 */
export const REGISTRY: readonly SharedTable[] = OWN_TABLES.filter(
  ({ kind }) => kind !== 'side',
)
  .map(({ name }): SharedTable => ({ name, ...OF_REGISTRY[name] }))
  .sort((one, other) => orderOf(one) - orderOf(other));

function orderOf({ name }: SharedTable): number {
  return ['tenants', 'entities'].indexOf(name) + 1 || 3;
}

/** The tables of the mockup plugin, referenced before referencing. */
export const MOCKUPS: readonly SharedTable[] = [
  // A trigger puts mockups that are deleted there.
  { name: 'mockup_trash', keys: ['id'] },
  {
    name: 'mockup_trash_versions',
    keys: ['id', 'mockup_id', 'restored_from'],
  },
  { name: 'mockups', keys: ['id'] },
  { name: 'mockup_versions', keys: ['id', 'mockup_id', 'restored_from'] },
  { name: 'mockup_pages', keys: ['mockup_id', 'version_id'] },
  { name: 'mockup_comments', keys: ['id', 'mockup_id'] },
  { name: 'mockup_ready_versions', keys: ['version_id'] },
  { name: 'mockup_settings' },
  // Who has an editor open.
  { name: 'mockup_editors', isDerived: true },
];

const BY_NAME = new Map(
  [...REGISTRY, ...MOCKUPS].map(table => [table.name, table]),
);

/** The description of a table that all tenants share. */
export function describeShared(name: string): SharedTable {
  return BY_NAME.get(name) ?? { name };
}

/** Columns with a reference of a person, who may be one of the tenant's own sign-in. */
export const PEOPLE_COLUMNS: readonly string[] = [
  'accepted_by',
  'author',
  'config_updated_by',
  'created_by',
  'deleted_by',
  'owner',
  'paused_by',
  'principal',
  'published_by',
  'ready_by',
  'resolved_by',
  'updated_by',
];

/** Tables of other plugins that name people, by the column: rows say nothing without the person. */
export const PEOPLE_TABLES: readonly [table: string, column: string][] = [
  ['user_info', 'user_entity_ref'],
  ['offline_sessions', 'user_entity_ref'],
  ['user_settings', 'user_entity_ref'],
  ['notification', 'user'],
];

/** The table of Backstage's scheduler. The ids of a tenant's tasks begin with `tenant:<id>:`. */
export const TASKS = 'backstage_backend_tasks__tasks';

/**
 * In schemas of a tenant, what belongs to processes: where upstream's migrator keeps what has run,
 * Backstage's scheduler its tasks, and an engine what it reads at the moment. A pattern.
 */
export const BOOKKEEPING =
  '^(knex_migrations|backstage_backend_tasks__|tenancy_)';
