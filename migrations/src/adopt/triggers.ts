import type { Executor } from '../engine/Executor';
import { engineTable } from './engine';
import type { Engine } from './engine';
import { ADOPTION_TRIGGER, ENGINE_TABLES, triggerFunction } from './names';
import type { EngineTable } from './names';

const NEW = 'new table as new_rows';
const OLD = 'old table as old_rows';

/** What the triggers of each table fire for, by the end of their names. */
const EVENTS: Record<EngineTable, Record<string, string>> = {
  // One statement of the engine changes one row, or few.
  final_entities: {
    '': 'after insert or update or delete on TABLE for each row',
    _truncate: 'after truncate on TABLE for each statement',
  },
  refresh_state: { '': 'after update on TABLE for each row' },
  // All relations, or edges, of an entity at once.
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
 * The statements that let a table of the engine carry its changes.
 *
 * None names a column: PostgreSQL refuses to drop or alter one that a trigger names,
 * and the engine's next migration would fail.
 */
export function createTriggers(engine: Engine, table: EngineTable): string[] {
  const name = engineTable(engine, table);
  return Object.entries(EVENTS[table]).flatMap(([suffix, event]) => [
    `drop trigger if exists ${ADOPTION_TRIGGER}${suffix} on ${name}`,
    `create trigger ${ADOPTION_TRIGGER}${suffix} ${event.replace(
      'TABLE',
      name,
    )} execute function ${triggerFunction(table)}()`,
    // Also for what a subscription writes, or a session that plays a replica.
    `alter table ${name} enable always trigger ${ADOPTION_TRIGGER}${suffix}`,
  ]);
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

/** The tables of the engine whose changes are not, or not all, carried. */
export async function tablesWithoutTriggers(
  executor: Executor,
  engine: Engine,
): Promise<EngineTable[]> {
  const found = await executor.read<{ table: string; name: string }>(
    `select r.relname as table, t.tgname as name
       from pg_trigger t
       join pg_class r on r.oid = t.tgrelid
       join pg_namespace n on n.oid = r.relnamespace
       join pg_proc p on p.oid = t.tgfoid
      where n.nspname = $1 and t.tgenabled = 'A'
        and p.pronamespace = (
          select oid from pg_namespace where nspname = current_schema())`,
    [engine.schema],
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
