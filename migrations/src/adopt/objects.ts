import type { Executor } from '../engine/Executor';
import type { Creation } from '../engine/Step';
import {
  revokeAllOnFunctionStatement,
  revokeAllStatement,
} from '../schema/grants';
import { DEFAULT_TENANT_ID } from '../schema/tables';
import { escapeLiteral } from '../sql';
import { ENGINE_TABLES, engineTable } from './engine';
import type { Engine, EngineTable } from './engine';
import {
  createClear,
  createClearRelations,
  createCopy,
  createDropEntity,
  createForgetEntity,
  createIsCarried,
  createOnFinalEntities,
  createOnRefreshState,
  createOnRelations,
  createPut,
  createPutEntity,
  createPutRelations,
  createPutRest,
  createPutState,
} from './functions/carry';
import {
  createCopyParents,
  createOnReferences,
  createPutParent,
} from './functions/parents';
import { createRelease, createReserve } from './functions/quota';
import {
  createCheckSnapshot,
  createJson,
  createNote,
} from './functions/support';
import type { Target } from './functions/support';
import { ADOPTION_STATE, FAULTS } from './state';

// What an adoption creates in the database: two tables, the functions, and the
// triggers on the engine's tables.

const TENANT_COLUMN = `tenant_id uuid not null default '${DEFAULT_TENANT_ID}'`;

export const CREATE_STATE = `create table if not exists ${ADOPTION_STATE} (
  ${TENANT_COLUMN},
  key text not null,
  value jsonb not null,
  primary key (tenant_id, key)
)`;

const CREATE_FAULTS = [
  `create table if not exists ${FAULTS} (
  ${TENANT_COLUMN},
  source text not null,
  key text not null,
  reason text not null,
  sqlstate text not null,
  first_seen_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  attempts int not null default 1,
  primary key (tenant_id, source, key)
)`,
  `comment on table ${FAULTS} is 'What of the catalog could not be carried, and why; written by triggers on its tables'`,
];

/**
 * Every function of the adoption by its signature, with what creates it. One set serves all
 * tenants: most take the tenant, and the schema of its engine's tables.
 */
const FUNCTIONS: Record<string, (target: Target) => string> = {
  'adoption_note(uuid, text, text, text, text, text)': createNote,
  'adoption_check_snapshot()': createCheckSnapshot,
  'adoption_is_carried(uuid, uuid)': createIsCarried,
  'adoption_reserve(uuid, text)': createReserve,
  'adoption_release(text)': createRelease,
  'adoption_put_relations(uuid, text, text)': createPutRelations,
  'adoption_put_state(uuid, text, text, text, text)': createPutState,
  'adoption_put_rest(uuid, text, text)': createPutRest,
  'adoption_put_entity(uuid, text, text, text, text, text, timestamptz)':
    createPutEntity,
  'adoption_forget_entity(uuid, text, uuid)': createForgetEntity,
  'adoption_drop_entity(uuid, text, text)': createDropEntity,
  'adoption_clear(uuid, text)': createClear,
  'adoption_clear_relations(uuid)': createClearRelations,
  'adoption_put_parent(uuid, text, text, text)': createPutParent,
  'adoption_put(uuid, text, text)': createPut,
  'adoption_copy(uuid, text, text, integer)': createCopy,
  'adoption_copy_parents(uuid, text, bigint, integer)': createCopyParents,
  'adoption_json(text)': createJson,
  'adoption_on_final_entities()': createOnFinalEntities,
  'adoption_on_relations()': createOnRelations,
  'adoption_on_refresh_state()': createOnRefreshState,
  'adoption_on_refresh_state_references()': createOnReferences,
};

export const FUNCTION_SIGNATURES = Object.keys(FUNCTIONS);

/** The functions that are there, by their signatures. */
export async function readFunctions(executor: Executor): Promise<string[]> {
  const rows = await executor.read<{ signature: string }>(
    `select s as signature from unnest($1::text[]) s
      where to_regprocedure(s) is not null`,
    [FUNCTION_SIGNATURES],
  );
  return rows.map(({ signature }) => signature);
}

/** Whether a function that is there has another body than this version gives it. */
export async function hasOtherFunctions(
  executor: Executor,
  target: Target,
): Promise<boolean> {
  const rows = await executor.read<{ signature: string; body: string }>(
    `select s as signature, p.prosrc as body
       from unnest($1::text[]) s join pg_proc p on p.oid = to_regprocedure(s)`,
    [FUNCTION_SIGNATURES],
  );
  return rows.some(
    ({ signature, body }) => !FUNCTIONS[signature](target).includes(body),
  );
}

/**
 * The statements that create the functions, and revoke EXECUTE from every role, also
 * what default privileges granted. Without EXECUTE no role can create a trigger with
 * one: triggers call their function without checking the writer's rights.
 */
export function createFunctions(target: Target): string[] {
  return Object.entries(FUNCTIONS).flatMap(([signature, create]) => [
    create(target),
    revokeAllOnFunctionStatement(signature),
  ]);
}

/**
 * The statements that create the tables and functions. They can be repeated, and replace
 * functions that are there.
 */
export function createShared(target: Target): string[] {
  return [
    ...CREATE_FAULTS,
    CREATE_STATE,
    // Faults name entities, and no policy protects the table.
    revokeAllStatement(FAULTS),
    revokeAllStatement(ADOPTION_STATE),
    ...createFunctions(target),
  ];
}

export const DROP_SHARED = [
  ...FUNCTION_SIGNATURES.map(
    signature => `drop function if exists ${signature}`,
  ),
  `drop table if exists ${FAULTS}, ${ADOPTION_STATE}`,
];

/** The names of the triggers on the engine's tables begin with it. */
const ADOPTION_TRIGGER = 'tenancy_adoption';

/** The function that the triggers of one of the engine's tables call. */
export function triggerFunction(table: EngineTable): string {
  return `adoption_on_${table}`;
}

const NEW = 'new table as new_rows';
const OLD = 'old table as old_rows';

/** The events of each table's triggers, by the end of their names. */
const EVENTS: Record<EngineTable, Record<string, string>> = {
  // The engine changes one row, or few, in a statement.
  final_entities: {
    '': 'after insert or update or delete on TABLE for each row',
    _truncate: 'after truncate on TABLE for each statement',
  },
  refresh_state: { '': 'after update on TABLE for each row' },
  // The engine writes all relations, or edges, of an entity in one statement.
  relations: byStatement(),
  refresh_state_references: byStatement(),
};

function byStatement(): Record<string, string> {
  const statement = 'for each statement';
  return {
    _insert: `after insert on TABLE referencing ${NEW} ${statement}`,
    _update: `after update on TABLE referencing ${OLD} ${NEW} ${statement}`,
    _delete: `after delete on TABLE referencing ${OLD} ${statement}`,
    _truncate: `after truncate on TABLE ${statement}`,
  };
}

/**
 * The statements that create the triggers on a table of the engine.
 *
 * No trigger names a column: PostgreSQL refuses to drop or alter one that a trigger names,
 * and the engine's next migration would fail.
 */
export function createTriggers(engine: Engine, table: EngineTable): string[] {
  return [
    ...createTriggerStatements(engine, table),
    ...enableTriggers(engine, table),
  ];
}

/**
 * The statements that create them where there are none.
 *
 * @param schema - what stands before the name of their function, if its schema is not on
 *   the search path
 */
export function createTriggerStatements(
  engine: Engine,
  table: EngineTable,
  schema = '',
): string[] {
  const { tenantId } = engine;
  const tenant = tenantId === DEFAULT_TENANT_ID ? '' : escapeLiteral(tenantId);
  return Object.entries(EVENTS[table]).map(
    ([suffix, event]) =>
      `create or replace trigger ${ADOPTION_TRIGGER}${suffix} ${event.replace(
        'TABLE',
        () => engineTable(engine, table),
      )} execute function ${schema}${triggerFunction(table)}(${tenant})`,
  );
}

/** They fire also for logical replication, and under session_replication_role = replica. */
export function enableTriggers(engine: Engine, table: EngineTable): string[] {
  return Object.keys(EVENTS[table]).map(
    suffix =>
      `alter table ${engineTable(
        engine,
        table,
      )} enable always trigger ${ADOPTION_TRIGGER}${suffix}`,
  );
}

export function dropTriggers(engine: Engine, table: EngineTable): string[] {
  return Object.keys(EVENTS[table]).map(
    suffix =>
      `drop trigger if exists ${ADOPTION_TRIGGER}${suffix} on ${engineTable(
        engine,
        table,
      )}`,
  );
}

/** Runs a query, and resolves with its rows. */
export type Read = <Row extends object>(
  sql: string,
  values: unknown[],
) => Promise<Row[]>;

/**
 * The tables of the engine that lack a trigger, have one disabled, or one that carries to
 * another tenant.
 *
 * @param schema - of the functions that the triggers call; by default the current one
 */
export async function tablesWithoutTriggers(
  executor: { read: Read },
  engine: Engine,
  schema?: string,
): Promise<EngineTable[]> {
  const found = await executor.read<{ table: string; name: string }>(
    `select r.relname as table, t.tgname as name
       from pg_catalog.pg_trigger t
       join pg_catalog.pg_class r on r.oid = t.tgrelid
       join pg_catalog.pg_namespace n on n.oid = r.relnamespace
       join pg_catalog.pg_proc p on p.oid = t.tgfoid
      where n.nspname = $1 and t.tgenabled = 'A'
        and case t.tgnargs when 0 then $2 = '${DEFAULT_TENANT_ID}'
              else t.tgargs = convert_to($2, 'UTF8') || '\\x00'::bytea end
        and p.pronamespace = (
          select oid from pg_catalog.pg_namespace
           where nspname = coalesce($3, current_schema()))`,
    [engine.schema, engine.tenantId, schema ?? null],
  );
  return ENGINE_TABLES.filter(table =>
    Object.keys(EVENTS[table]).some(
      suffix =>
        !found.some(
          each =>
            each.table === table &&
            each.name === `${ADOPTION_TRIGGER}${suffix}`,
        ),
    ),
  );
}

/** What an adoption creates in our schema. */
export const ADOPTION_CREATIONS: Creation[] = [
  ...[FAULTS, `${FAULTS}_pkey`, ADOPTION_STATE, `${ADOPTION_STATE}_pkey`].map(
    (name): Creation => ({ kind: 'relation', name }),
  ),
  ...FUNCTION_SIGNATURES.map((name): Creation => ({ kind: 'function', name })),
];
