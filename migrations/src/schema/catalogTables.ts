import { RefusedError } from '../errors';
import { LAYOUT } from '../layout';
import type { StepContext } from '../engine/Step';
import { relationExists } from './lookups';
import { escapeIdentifier, escapeLiteral } from '../sql';
import { TENANT_TABLES } from './tables';

const ENTITIES = `create table entities (
  ${[
    ...Object.entries(LAYOUT.entities.columns).map(
      ([name, { type, required, default: value }]) =>
        `${name} ${type}${required ? ' not null' : ''}${
          value ? ` default ${value}` : ''
        }`,
    ),
    'primary key (entity_id)',
    'constraint entities_entity_ref_key unique (entity_ref)',
    `constraint entities_entity_ref_check ${LAYOUT.entities.checks[0]}`,
  ].join(',\n  ')}
)`;

const RELATIONS = `create table relations (
  originating_entity_id uuid not null
    constraint relations_originating_entity_id_fkey
      references entities (entity_id) on delete cascade,
  source_entity_ref text not null,
  type text not null,
  target_entity_ref text not null
)`;

// Columns beyond the specification: the time of the next refresh, of the last mention by a
// provider or location, the owning location, and the last errors.
const REFRESH_STATE = `create table refresh_state (
  entity_id uuid primary key
    constraint refresh_state_entity_id_fkey
      references entities (entity_id) on delete cascade,
  location_key text,
  next_update_at timestamptz not null default now(),
  last_discovery_at timestamptz not null default now(),
  errors jsonb not null default '[]'
)`;

const INDEXES = [
  'create index relations_originating_entity_id_idx on relations (originating_entity_id)',
  'create index relations_source_entity_ref_idx on relations (source_entity_ref)',
  'create index relations_target_entity_ref_idx on relations (target_entity_ref)',
  'create index refresh_state_next_update_at_idx on refresh_state (next_update_at)',
];

const COMMENTS = [
  `comment on table entities is 'The entities of the catalog'`,
  `comment on column entities.final_entity is 'The entity as it is read, after all processing'`,
  `comment on column entities.hash is 'Of final_entity: tells whether it has changed'`,
  `comment on column entities.stitch_ticket is 'Of the stitch at work, if any'`,
  `comment on column entities.deleted_at is 'Set while the entity is deleted'`,
  `comment on table relations is 'The relations between entities, as their originating entity tells them'`,
  `comment on table refresh_state is 'When each entity is refreshed, and how that went'`,
  `comment on column refresh_state.location_key is 'The location or provider that owns the entity'`,
];

/**
 * Whether the schema has none of the three tables.
 *
 * @throws {@link RefusedError} if it has only some of them
 */
export async function isFreshDatabase({
  executor,
  settings,
}: Pick<StepContext, 'executor' | 'settings'>): Promise<boolean> {
  const missing: string[] = [];
  for (const table of TENANT_TABLES) {
    if (!(await relationExists(executor, table))) {
      missing.push(table);
    }
  }
  if (missing.length > 0 && missing.length < TENANT_TABLES.length) {
    throw new RefusedError(
      `The schema "${settings.schema}" has no ${missing.join(' and no ')}. ` +
        `Expected all of ${TENANT_TABLES.join(', ')}, or none, in the schema ` +
        'that --schema names.',
    );
  }
  return missing.length > 0;
}

/**
 * Creates the empty tables of a single-tenant catalog, so that a fresh database goes through
 * the same phases as any other.
 *
 * @param statements - run at the end of the same transaction
 */
export async function createCatalogTables(
  { executor, settings }: Pick<StepContext, 'executor' | 'settings'>,
  statements: string[] = [],
): Promise<void> {
  const schema = escapeIdentifier(settings.schema);
  await executor.transaction({
    title: 'Create the tables of a single-tenant catalog',
    locks: 'New tables, which no session uses yet.',
    statements: [
      // IF NOT EXISTS would check CREATE on the database even if the schema exists.
      `do $$ begin
  if to_regnamespace(${escapeLiteral(schema)}) is null then
    create schema ${schema};
  end if;
end $$`,
      ENTITIES,
      RELATIONS,
      REFRESH_STATE,
      ...INDEXES,
      ...COMMENTS,
      ...statements,
    ],
  });
}
