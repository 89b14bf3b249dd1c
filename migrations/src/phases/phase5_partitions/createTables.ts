import { DEFAULT_TENANT_ID, TENANT_TABLES } from '../../schema/tables';
import type { TenantTable } from '../../schema/tables';
import type { Executor } from '../../engine/Executor';
import { LAYOUT } from '../../layout';
import { APP_PRIVILEGES, APP_ROLE, ownerStatement } from '../../roles';
import {
  revokeAllStatement,
  closePartitionStatements,
} from '../../schema/grants';
import {
  catchAllPartition,
  defaultTenantPartition,
  identifyByAllColumns,
} from '../../schema/partitions';
import { tenantPolicyStatements } from '../../schema/policies';
import { indexStatement } from './50_indexes';

/** Columns beyond the specification, behind those of the layout. */
const FURTHER: Readonly<Record<TenantTable, readonly string[]>> = {
  entities: [],
  relations: [
    'source_entity_ref text not null',
    'type text not null',
    'target_entity_ref text not null',
  ],
  refresh_state: [
    'location_key text',
    'next_update_at timestamptz not null default now()',
    'last_discovery_at timestamptz not null default now()',
    `errors jsonb not null default '[]'`,
  ],
};

const COMMENTS: Readonly<Record<TenantTable, readonly string[]>> = {
  entities: [
    `comment on table entities is 'The entities of the catalog'`,
    `comment on column entities.final_entity is 'The entity as it is read, after all processing'`,
    `comment on column entities.hash is 'Of final_entity: tells whether it has changed'`,
    `comment on column entities.stitch_ticket is 'Of the stitch at work, if any'`,
    `comment on column entities.deleted_at is 'Set while the entity is deleted'`,
  ],
  relations: [
    `comment on table relations is 'The relations between entities, as their originating entity tells them'`,
  ],
  refresh_state: [
    `comment on table refresh_state is 'When each entity is refreshed, and how that went'`,
    `comment on column refresh_state.location_key is 'The location or provider that owns the entity'`,
  ],
};

/** The statements that create the three tables, empty, as a swap leaves them. They are idempotent. */
export async function createTablesStatements(
  executor: Executor,
): Promise<string[]> {
  const statements: string[] = [];
  for (const table of TENANT_TABLES) {
    statements.push(
      createTable(table),
      ...COMMENTS[table],
      ...partitionStatements(table, table),
      ...(await indexStatements(executor, table)),
      ...tenantPolicyStatements(table),
      ownerStatement(table),
      // What default privileges granted.
      revokeAllStatement(table),
      `grant ${APP_PRIVILEGES.join(', ')} on table ${table} to ${APP_ROLE}`,
    );
  }
  return statements;
}

function createTable(table: TenantTable): string {
  const { columns, checks, foreignKeys, indexes } = LAYOUT[table];
  return `create table if not exists ${table} (
  ${[
    ...Object.entries(columns).map(
      ([name, { type, required, default: value }]) =>
        `${name} ${type}${required ? ' not null' : ''}${
          value ? ` default ${value}` : ''
        }`,
    ),
    ...FURTHER[table],
    'tenant_id uuid not null',
    ...indexes
      .filter(({ constraint }) => constraint)
      .map(
        ({ name, on, constraint }) =>
          `constraint ${name} ${constraint} ${on.replace('btree ', '')}`,
      ),
    ...checks.map(check => `constraint ${table}_entity_ref_check ${check}`),
    ...foreignKeys.map(
      ({ name, definition }) => `constraint ${name} ${definition}`,
    ),
  ].join(',\n  ')}
) partition by list (tenant_id)`;
}

/** The statements that create the two first partitions of a table. */
export function partitionStatements(
  table: TenantTable,
  parent: string,
  storage = '',
): string[] {
  const partitions = {
    [defaultTenantPartition(table)]: `for values in ('${DEFAULT_TENANT_ID}')`,
    [catchAllPartition(table)]: 'default',
  };
  return Object.entries(partitions).flatMap(([name, bound]) => [
    `create table if not exists ${name}
  partition of ${parent} ${bound}${storage}`,
    ...closePartitionStatements(name),
  ]);
}

/** Every index but those of constraints; a table without a primary key is identified by all columns. */
async function indexStatements(
  executor: Executor,
  table: TenantTable,
): Promise<string[]> {
  const keys = LAYOUT[table].indexes.filter(({ constraint }) => constraint);
  const statements: string[] = [];
  for (const index of LAYOUT[table].indexes) {
    // A key finds what an equal index would.
    if (!keys.some(({ on }) => on === index.on)) {
      statements.push(await indexStatement(executor, table, index));
    }
  }
  return keys.length > 0
    ? statements
    : [
        ...statements,
        ...[table, defaultTenantPartition(table), catchAllPartition(table)].map(
          identifyByAllColumns,
        ),
      ];
}
