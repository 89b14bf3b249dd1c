import { tenantPolicyStatements } from '../../../schema/policies';
import { identifyByAllColumns } from '../../../schema/partitions';
import { ADMIN_ROLE, APP_ROLE, ownerStatement } from '../../../roles';
import type { SearchTable } from '../../../schema/tables';
import { revokeAllStatement } from '../../../schema/grants';
import { COUNTED_KEY, KEY_PREFIXES, ORDERED_KEY } from './keys';

const PARENTS_TABLE = `create table if not exists entity_parents (
  tenant_id uuid not null,
  entity_ref text not null,
  parent_entity_ref text not null
)`;

// An original that is the value is empty, not null: a null costs an entry of an index 8 bytes
// more. Keys are compared by their bytes, which is faster, and without which the planner would not
// see that a key is one of those of the index for facets.
const TERMS_TABLE = `create table if not exists entity_terms (
  tenant_id uuid not null,
  entity_id uuid not null,
  key text collate "C" not null,
  value text,
  original_value text not null default ''
)`;

const PARENTS_INDEXES = {
  entity_parents_entity_ref_idx: 'entity_ref',
  entity_parents_parent_entity_ref_idx: 'parent_entity_ref',
};

/**
 * The indexes of entity_terms, built after the copy of the entities: rows arrive in the order of
 * neither index, so to insert each row into them would take longer than the rest of the copy.
 *
 * PostgreSQL stores equal entries of an index once, with the places of their rows. So the
 * first takes few bytes for each term, and so does the third, which has no entity.
 *
 * The first has no tenant: PostgreSQL takes tenant and entity for independent, would expect one
 * term of an entity in a database of many tenants, and read all of them where it knows the value.
 * In the third the value comes last: PostgreSQL would look up values in it otherwise, the smaller
 * index, and each row in the table. The fourth is for orders of a few entities, such as those of
 * an owner, which would go through the names of all entities without it.
 */
export const TERM_INDEXES = [
  { name: 'entity_terms_entity_idx', on: '(entity_id)' },
  {
    name: 'entity_terms_key_value_entity_idx',
    on: '(tenant_id, key, value, entity_id) include (original_value)',
    isUnique: true,
  },
  {
    name: 'entity_terms_facets_idx',
    on: `(tenant_id, key, original_value, value) where value is not null and ${COUNTED_KEY}`,
  },
  {
    name: 'entity_terms_order_idx',
    on: `(tenant_id, entity_id, key, value) where ${ORDERED_KEY}`,
  },
].map(({ name, on, isUnique }) => ({
  name,
  statement: `create ${
    isUnique ? 'unique ' : ''
  }index if not exists ${name} on entity_terms ${on}`,
}));

const TERMS_COMMENTS = [
  `comment on table entity_terms is 'What live entities are found by: the flattened keys and values of final_entity. Written by triggers of entities alone'`,
  `comment on column entity_terms.key is 'In lower case; a capital letter at the beginning stands for ${Object.entries(
    KEY_PREFIXES,
  )
    .map(([letter, prefix]) => `${prefix} (${letter})`)
    .join(', ')}'`,
  `comment on column entity_terms.value is 'In lower case; null for null, and for what is longer than 200 characters'`,
  `comment on column entity_terms.original_value is 'As the entity has it; empty where that is the value'`,
];

/**
 * The storage parameters of entity_terms. Plans depend on its statistics, and index-only
 * scans on its visibility map: autovacuum updates both often. It has some forty rows for
 * each entity, and a change of one clears the bit of the entity's page: after 4 % of the rows
 * had changed, half of all index entries had to be looked up in the table. So it is
 * vacuumed after a hundredth (docs/operators/performance.md).
 *
 * The statistics have up to a hundred tenants. Of one that came later PostgreSQL expects one row,
 * so that they are made again after half of a hundredth.
 */
export const TERM_STORAGE: Readonly<Record<string, string>> = {
  autovacuum_vacuum_scale_factor: '0.01',
  autovacuum_vacuum_insert_scale_factor: '0.01',
  autovacuum_analyze_scale_factor: '0.005',
};

const STORAGE = [
  `alter table entity_terms set (
  ${Object.entries(TERM_STORAGE)
    .map(setting => setting.join(' = '))
    .join(',\n  ')})`,
];

// Values correlate with their key and tenant. Without these statistics, PostgreSQL estimates
// a few entities of a kind that most have, reads all of them for the first page, and sorts
// facets by their rows. With the default target: at 1000 each statement took five to ten
// milliseconds more to plan, and found no better plan.
const STATISTICS: Record<string, string> = {
  entity_terms_key_value_stats:
    '(dependencies, ndistinct, mcv) on tenant_id, key, value',
  entity_terms_facets_stats:
    '(ndistinct) on tenant_id, key, value, original_value',
};

/** The names that the tables and the indexes of entity_parents take. */
export const searchRelations = [
  'entity_terms',
  'entity_parents',
  ...Object.keys(PARENTS_INDEXES),
];

/** The statements that create both tables, without {@link TERM_INDEXES}. They are idempotent. */
export const searchTablesStatements = [
  PARENTS_TABLE,
  ...Object.entries(PARENTS_INDEXES).map(
    ([name, column]) =>
      `create index if not exists ${name} on entity_parents (tenant_id, ${column})`,
  ),
  `comment on table entity_parents is 'Which entity has emitted which, where the engine of a catalog tells'`,
  ...searchTableAccess('entity_parents'),
  TERMS_TABLE,
  ...TERMS_COMMENTS,
  ...STORAGE,
  ...Object.entries(STATISTICS).flatMap(([name, what]) => [
    `create statistics if not exists ${name} ${what} from entity_terms`,
    `alter statistics ${name} owner to ${ADMIN_ROLE}`,
  ]),
  ...searchTableAccess('entity_terms'),
];

function searchTableAccess(table: SearchTable): string[] {
  return [
    ...tenantPolicyStatements(table),
    ownerStatement(table),
    revokeAllStatement(table),
    `grant select on table ${table} to ${APP_ROLE}`,
    // No primary key: a value may be null.
    identifyByAllColumns(table),
  ];
}
