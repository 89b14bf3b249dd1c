import { escapeIdentifier, escapeLiteral } from '../sql';
import { relationExists } from '../schema/lookups';
import type { Executor } from './Executor';
import { ADOPTION_STATE, FAULTS } from '../adopt/state';
import { STATE_TABLE } from './MigrationState';
import type { Step } from './Step';

const MIGRATIONS_TABLE = 'tenancy_migrations';

/** The tables of the migration itself. */
export const bookkeepingTables = [MIGRATIONS_TABLE, STATE_TABLE];

/** The one that commands before this version created, and did not read. */
export const FORMER_BOOKKEEPING = 'tenancy_migrations_lock';

// The columns by which the tables of this product are told from others of these names.
const COLUMNS: Record<string, string[]> = {
  [MIGRATIONS_TABLE]: ['id', 'name', 'batch', 'migration_time'],
  [FORMER_BOOKKEEPING]: ['index', 'is_locked'],
  [STATE_TABLE]: ['key', 'value'],
  [ADOPTION_STATE]: ['key', 'value'],
  [FAULTS]: ['source', 'key', 'sqlstate'],
};

/** Others' tables, views and types with the names of the tables in which commands keep their state. */
export async function foreignBookkeeping({
  read,
}: Pick<Executor, 'read'>): Promise<string[]> {
  const found = await read<{ name: string }>(
    `select 'the ' || case when c.oid is null then 'type ' else 'relation ' end || t.name as name
       from jsonb_each($1::jsonb) t (name, columns)
       join pg_namespace n on n.nspname = current_schema()
       left join pg_class c on c.relnamespace = n.oid and c.relname = t.name
      where case when c.oid is null
              then exists (select from pg_type y where y.typnamespace = n.oid and y.typname = t.name)
              else c.relkind <> 'r' or exists (
                select from jsonb_array_elements_text(t.columns) wanted
                 where not exists (select from pg_attribute a
                                    where a.attrelid = c.oid and a.attname = wanted and a.attnum > 0)) end
      order by 1`,
    [JSON.stringify(COLUMNS)],
  );
  return found.map(({ name }) => name);
}

/** Steps of databases from before this version, which does without them. */
const RETIRED_STEPS = [
  '3_50_proof',
  '4_20_views',
  '5_90_entity_search',
  '5_95_entity_search_fill',
  '5_96_entity_terms_fill',
];

/** What steps are called now, by their names in databases from before this version. */
const RENAMED_STEPS: Readonly<Record<string, string>> = {
  '5_15_tenant_members': '01_tenant_members',
  '5_16_tenant_engines': '02_tenant_engines',
  '5_17_engine_leases': '03_engine_leases',
  '5_18_engine_status': '04_engine_status',
  '5_19_tenant_limits': '05_tenant_limits',
  '5_80_settle': '5_80_wait_for_old_snapshots',
  '5_91_entity_terms': '5_15_search_tables',
  '5_97_ready': '5_97_mark_ready',
};

/** What is recorded: a step of a phase, or a migration of the product's own tables. */
export type Recorded = Pick<Step, 'name' | 'creates'>;

/** All steps of the migration, and which of them are done. */
export class Journal {
  static async read(
    executor: Executor,
    steps: readonly Recorded[],
  ): Promise<Journal> {
    return new Journal(steps, await readCompletedSteps(executor));
  }

  private constructor(
    readonly steps: readonly Recorded[],
    /** The names of those that are done, in the order in which they were. */
    readonly completed: readonly string[],
  ) {}

  isDone({ name }: Pick<Recorded, 'name'>): boolean {
    return this.completed.includes(name);
  }

  /** The names of steps that another version of the migration has done. */
  unknown(): string[] {
    const known = this.steps.map(({ name }) => name);
    return this.completed.filter(name => !known.includes(name));
  }
}

/** A step that is done. */
export interface StepRecord {
  name: string;
  time: Date;
}

/** The steps that are done and when they were, in their order. */
export async function readStepRecords(
  executor: Executor,
): Promise<StepRecord[]> {
  if (!(await relationExists(executor, MIGRATIONS_TABLE))) {
    return [];
  }
  const records = await executor.read<StepRecord>(
    `select name, migration_time as time from ${MIGRATIONS_TABLE}
      where name <> all ($1) order by id`,
    [RETIRED_STEPS],
  );
  return records.map(({ name, time }) => ({
    name: RENAMED_STEPS[name] ?? name,
    time,
  }));
}

/** The names of the steps that are done, in their order. */
export async function readCompletedSteps(
  executor: Executor,
): Promise<string[]> {
  const records = await readStepRecords(executor);
  return records.map(({ name }) => name);
}

/** The statements that create the schema and the tables of the migration. */
export function bookkeepingStatements(schema: string): string[] {
  return [
    // IF NOT EXISTS would check CREATE on the database even if the schema exists.
    `do $$ begin
  if to_regnamespace(${escapeLiteral(escapeIdentifier(schema))}) is null then
    create schema ${escapeIdentifier(schema)};
  end if;
end $$`,
    `create table if not exists ${MIGRATIONS_TABLE} (
  id serial primary key,
  name varchar(255),
  batch integer,
  migration_time timestamptz
)`,
    `create table if not exists ${STATE_TABLE} (
  key text primary key,
  value jsonb not null
)`,
  ];
}

/** The statement that records a step as done. */
export function recordStatement({ name }: Pick<Recorded, 'name'>): string {
  return (
    `insert into ${MIGRATIONS_TABLE} (name, batch, migration_time) values ` +
    `(${escapeLiteral(name)}, 1, now())`
  );
}

/** The counterpart of {@link recordStatement} for a step that is undone. */
export function forgetStatement({ name }: Pick<Recorded, 'name'>): string {
  const names = [
    name,
    ...Object.keys(RENAMED_STEPS).filter(old => RENAMED_STEPS[old] === name),
  ];
  return `delete from ${MIGRATIONS_TABLE} where name in (${names
    .map(escapeLiteral)
    .join(', ')})`;
}
