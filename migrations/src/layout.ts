import { DEFAULT_TENANT_ID } from './schema/tables';
import type { TenantTable } from './schema/tables';

// The three tables of the specification (B.2, B.3). Phase 5 builds them by this, and the
// preflight, the phases and verify compare the database with it.

/** A column that the specification names. */
interface LayoutColumn {
  type: string;
  /** NOT NULL from phase 3 on. */
  required?: true;
  /** The default on the partitioned table. */
  default?: string;
}

/** An index of a partitioned table. */
export interface LayoutIndex {
  name: string;
  /** As pg_get_indexdef puts it after USING. */
  on: string;
  /** The constraint that it implements. */
  constraint?: 'primary key' | 'unique';
  /** Built only where the single-tenant table has the same without tenant_id. */
  optional?: true;
}

interface TableLayout {
  columns: Readonly<Record<string, LayoutColumn>>;
  indexes: readonly LayoutIndex[];
  /** As pg_get_constraintdef puts them. */
  foreignKeys: readonly { name: string; definition: string }[];
  /** As pg_get_constraintdef puts them, with columns of the type text. */
  checks: readonly string[];
}

const TIME = 'timestamp with time zone';
const LIVE = 'WHERE (deleted_at IS NULL)';

export const LAYOUT: Readonly<Record<TenantTable, TableLayout>> = {
  entities: {
    columns: {
      entity_id: { type: 'uuid', required: true, default: 'gen_random_uuid()' },
      entity_ref: { type: 'text', required: true },
      entity_kind: { type: 'text', required: true },
      entity_namespace: {
        type: 'text',
        required: true,
        default: `'default'`,
      },
      entity_name: { type: 'text', required: true },
      final_entity: { type: 'jsonb', required: true },
      hash: { type: 'text', required: true },
      stitch_ticket: { type: 'text' },
      created_at: { type: TIME, required: true, default: 'now()' },
      updated_at: { type: TIME, required: true, default: 'now()' },
      deleted_at: { type: TIME },
    },
    indexes: [
      {
        name: 'entities_partitioned_pkey',
        on: 'btree (tenant_id, entity_id)',
        constraint: 'primary key',
      },
      {
        name: 'entities_partitioned_tenant_id_entity_ref_key',
        on: 'btree (tenant_id, entity_ref)',
        constraint: 'unique',
      },
      {
        name: 'entities_partitioned_live_ref_idx',
        on: `btree (tenant_id, entity_ref) ${LIVE}`,
      },
      {
        name: 'entities_partitioned_live_kind_idx',
        on: `btree (tenant_id, entity_kind, created_at DESC) ${LIVE}`,
      },
      {
        name: 'entities_partitioned_live_name_idx',
        on: `gin (entity_name gin_trgm_ops) ${LIVE}`,
      },
      {
        name: 'entities_partitioned_final_entity_idx',
        on: 'gin (final_entity jsonb_path_ops)',
      },
    ],
    foreignKeys: [tenantKey('entities')],
    checks: [
      "CHECK ((entity_ref = ((((entity_kind || ':'::text) || entity_namespace) || '/'::text) || entity_name)))",
    ],
  },
  relations: {
    columns: { originating_entity_id: { type: 'uuid', required: true } },
    indexes: [
      {
        name: 'relations_partitioned_entity_idx',
        on: 'btree (tenant_id, originating_entity_id)',
      },
      optional('relations', 'source_entity_ref'),
      optional('relations', 'target_entity_ref'),
    ],
    foreignKeys: [
      tenantKey('relations'),
      entityKey('relations', 'originating_entity_id'),
    ],
    checks: [],
  },
  refresh_state: {
    columns: { entity_id: { type: 'uuid', required: true } },
    indexes: [
      {
        name: 'refresh_state_partitioned_entity_idx',
        on: 'btree (tenant_id, entity_id)',
      },
      {
        name: 'refresh_state_partitioned_pkey',
        on: 'btree (tenant_id, entity_id)',
        constraint: 'primary key',
        optional: true,
      },
      optional('refresh_state', 'next_update_at'),
    ],
    foreignKeys: [
      tenantKey('refresh_state'),
      entityKey('refresh_state', 'entity_id'),
    ],
    checks: [],
  },
};

function optional(table: TenantTable, column: string): LayoutIndex {
  return {
    name: `${table}_partitioned_${column}_idx`,
    on: `btree (tenant_id, ${column})`,
    optional: true,
  };
}

function tenantKey(table: TenantTable) {
  return {
    name: `${table}_tenant_id_fkey`,
    definition:
      'FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id) ON DELETE CASCADE',
  };
}

function entityKey(table: TenantTable, column: string) {
  return {
    name: `${table}_entity_fkey`,
    definition: `FOREIGN KEY (tenant_id, ${column}) REFERENCES entities(tenant_id, entity_id) ON DELETE CASCADE`,
  };
}

/** What an index or a foreign key is on the single-tenant table. */
export function withoutTenant(definition: string): string {
  return definition.replace(/tenant_id, /g, '');
}

/** The required columns of a table. */
export function requiredColumns(table: TenantTable): string[] {
  return Object.entries(LAYOUT[table].columns)
    .filter(([, { required }]) => required)
    .map(([name]) => name);
}

/** What constraints may be, before and after phase 5. */
export function acceptedConstraints(table: TenantTable): string[] {
  const { foreignKeys, checks } = LAYOUT[table];
  return [
    ...foreignKeys.flatMap(({ definition }) => [
      definition,
      withoutTenant(definition),
    ]),
    ...checks,
    // Phase 3 keeps the single-tenant tables to one tenant.
    `CHECK ((tenant_id = '${DEFAULT_TENANT_ID}'::uuid))`,
    // The phases prove NOT NULL by these.
    ...['tenant_id', ...requiredColumns(table)].map(
      column => `CHECK ((${column} IS NOT NULL))`,
    ),
  ];
}

/** What indexes may be, before and after phase 5. */
export function acceptedIndexes(
  table: TenantTable,
): { on: string; unique: boolean }[] {
  return [
    ...LAYOUT[table].indexes.flatMap(({ on, constraint }) =>
      [on, withoutTenant(on)].map(each => ({
        on: each,
        unique: constraint !== undefined,
      })),
    ),
    // Of phase 1, for the backfill.
    { on: 'btree (tenant_id) WHERE (tenant_id IS NULL)', unique: false },
  ];
}

/** SQL for a definition without the casts and brackets that types bring into it. */
export function comparable(definition: string): string {
  return `regexp_replace(${definition}, '::(text|uuid|character varying)|[() ]', '', 'g')`;
}
