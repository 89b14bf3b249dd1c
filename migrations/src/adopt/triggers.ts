import type { StepContext } from '../engine/Step';
import { ADMIN_ROLE } from '../roles';
import { DEFAULT_TENANT_ID } from '../schema/tables';
import { escapeLiteral } from '../sql';
import { ENGINE_TABLES, engineTable } from './engine';
import type { Engine, EngineTable } from './engine';

/** The names of the triggers on the engine's tables begin with it. */
const ADOPTION_TRIGGER = 'tenancy_adoption';

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
 * The statements that create the triggers on a table of the engine, where there are none.
 *
 * No trigger names a column: PostgreSQL refuses to drop or alter one that a trigger names,
 * and the engine's next migration would fail.
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
      )} execute function ${schema}adoption_on_${table}(${tenant})`,
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
 * another tenant, or that `portal_admin`, as whom their functions run, may not read.
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
       join pg_catalog.pg_proc p on p.oid = t.tgfoid
       join pg_catalog.pg_roles a on a.rolname = '${ADMIN_ROLE}'
       -- By names, for which there is an index: thousands of schemas have such tables.
      where r.relname = any ($4)
        and r.relnamespace = (select oid from pg_catalog.pg_namespace where nspname = $1)
        and t.tgenabled = 'A'
        and has_table_privilege(a.oid, r.oid, 'select')
        and case t.tgnargs when 0 then $2 = '${DEFAULT_TENANT_ID}'
              else t.tgargs = convert_to($2, 'UTF8') || '\\x00'::bytea end
        and p.pronamespace = (
          select oid from pg_catalog.pg_namespace
           where nspname = coalesce($3, current_schema()))`,
    [engine.schema, engine.tenantId, schema ?? null, ENGINE_TABLES],
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

/** Whose triggers the tables of the engine have, where these are not ours of its tenant. */
export async function otherAdoption(
  { executor, settings }: Pick<StepContext, 'executor' | 'settings'>,
  engine: Engine,
): Promise<{ schema: string; tenantId: string } | undefined> {
  const [found] = await executor.read<{ schema: string; tenantId: string }>(
    `select * from (
       select n.nspname as schema, case t.tgnargs when 0 then '${DEFAULT_TENANT_ID}'
                else left(encode(t.tgargs, 'escape'), 36) end as "tenantId"
         from pg_trigger t
         join pg_class r on r.oid = t.tgrelid
         join pg_proc p on p.oid = t.tgfoid
         join pg_namespace n on n.oid = p.pronamespace
        where starts_with(p.proname, 'adoption_on_') and r.relname = any ($1)
          and r.relnamespace = (select oid from pg_namespace where nspname = $2)) carried
      where (schema, "tenantId") <> ($3, $4) limit 1`,
    [ENGINE_TABLES, engine.schema, settings.schema, engine.tenantId],
  );
  return found;
}
