import { tenantPolicyStatements } from '../../../schema/policies';
import { identifyByAllColumns } from '../../../schema/partitions';
import { ADMIN_ROLE, APP_ROLE, ownerStatement } from '../../../roles';
import { SEARCH_TABLES } from '../../../schema/tables';
import { revokeAllStatement } from '../../../schema/grants';

const TABLES = [
  `create table if not exists entity_search (
  tenant_id uuid not null,
  entity_id uuid not null,
  key text not null,
  value text,
  original_value text
)`,
  `create table if not exists entity_parents (
  tenant_id uuid not null,
  entity_ref text not null,
  parent_entity_ref text not null
)`,
];

const INDEXES = [
  `create index if not exists entity_parents_entity_ref_idx
  on entity_parents (tenant_id, entity_ref)`,
  `create index if not exists entity_parents_parent_entity_ref_idx
  on entity_parents (tenant_id, parent_entity_ref)`,
];

/**
 * The indexes of entity_search, built after the fill: rows arrive in the order of neither
 * index, so to insert each row into them would take longer than the rest of the fill.
 */
export const SEARCH_INDEXES = [
  {
    name: 'entity_search_entity_key_value_idx',
    statement: `create unique index if not exists entity_search_entity_key_value_idx
  on entity_search (tenant_id, entity_id, key, value)`,
  },
  {
    name: 'entity_search_key_value_entity_idx',
    statement: `create index if not exists entity_search_key_value_entity_idx
  on entity_search (tenant_id, key, value, entity_id)`,
  },
  {
    name: 'entity_search_facets_idx',
    statement: `create index if not exists entity_search_facets_idx
  on entity_search (tenant_id, key, original_value, entity_id) where original_value is not null`,
  },
];

const COMMENTS = [
  `comment on table entity_search is 'What live entities are found by: the flattened keys and values of final_entity. Written by triggers of entities alone'`,
  `comment on column entity_search.key is 'In lower case'`,
  `comment on column entity_search.value is 'In lower case; null for null, and for what is longer than 200 characters'`,
  `comment on column entity_search.original_value is 'As the entity has it'`,
  `comment on table entity_parents is 'Which entity has emitted which, where the engine of a catalog tells'`,
];

/**
 * The storage parameters of entity_search. Plans depend on its statistics, and index-only
 * scans on its visibility map: autovacuum updates both often. It has some forty rows for
 * each entity, and a change of one clears the bit of the entity's page: after 4 % of the rows
 * had changed, half of all index entries had to be looked up in the table. So it is
 * vacuumed after a hundredth (docs/operators/performance.md).
 */
export const SEARCH_STORAGE: Readonly<Record<string, string>> = {
  autovacuum_vacuum_scale_factor: '0.01',
  autovacuum_vacuum_insert_scale_factor: '0.01',
  autovacuum_analyze_scale_factor: '0.02',
};

const STORAGE = [
  `alter table entity_search set (
  ${Object.entries(SEARCH_STORAGE)
    .map(setting => setting.join(' = '))
    .join(',\n  ')})`,
];

// Values correlate with their key and tenant. Without these statistics, PostgreSQL estimates
// a few entities of a kind that most have, reads all of them for the first page, and sorts
// facets by their rows. With the default target: at 1000 each statement took five to ten
// milliseconds more to plan, and found no better plan.
const STATISTICS: Record<string, string> = {
  entity_search_key_value_stats:
    '(dependencies, ndistinct, mcv) on tenant_id, key, value',
  entity_search_facets_stats: '(ndistinct) on tenant_id, key, original_value',
};

/** The names that the tables and their indexes take. */
export const searchRelations = [
  ...SEARCH_TABLES,
  ...SEARCH_INDEXES.map(({ name }) => name),
  'entity_parents_entity_ref_idx',
  'entity_parents_parent_entity_ref_idx',
];

/**
 * The statements that create both tables, without {@link SEARCH_INDEXES}. They are
 * idempotent.
 */
export const tableStatements = [
  ...TABLES,
  ...INDEXES,
  ...COMMENTS,
  ...STORAGE,
  ...Object.entries(STATISTICS).flatMap(([name, what]) => [
    `create statistics if not exists ${name} ${what} from entity_search`,
    `alter statistics ${name} owner to ${ADMIN_ROLE}`,
  ]),
  ...SEARCH_TABLES.flatMap(table => [
    ...tenantPolicyStatements(table, { policyFor: table }),
    ownerStatement(table),
    revokeAllStatement(table),
    `grant select on table ${table} to ${APP_ROLE}`,
    // No primary key: a value may be null.
    identifyByAllColumns(table),
  ]),
];

export const dropTableStatements = SEARCH_TABLES.map(
  table => `drop table if exists ${table}`,
);
