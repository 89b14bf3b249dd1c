import { escapeIdentifier, escapeLiteral } from '../sql';
import { relationExists } from '../schema/lookups';
import type { Executor } from './Executor';
import { ADOPTION_STATE, FAULTS } from '../adopt/state';
import { STATE_TABLE } from './MigrationState';
import type { Step } from './Step';

const MIGRATIONS_TABLE = 'tenancy_migrations';

/** The tables of the migration itself. */
export const bookkeepingTables = [MIGRATIONS_TABLE, STATE_TABLE];

// The columns by which the tables of this product are told from others of these names.
const COLUMNS: Record<string, string[]> = {
  [MIGRATIONS_TABLE]: ['id', 'name', 'batch', 'migration_time'],
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
  return executor.read<StepRecord>(
    `select name, migration_time as time from ${MIGRATIONS_TABLE} order by id`,
  );
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
  return `delete from ${MIGRATIONS_TABLE} where name = ${escapeLiteral(name)}`;
}
