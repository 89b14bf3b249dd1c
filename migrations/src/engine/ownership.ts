import { FOREIGN, namesTaken } from '../errors';
import { TENANT_TABLES } from '../schema/tables';
import { doBlock, escapeLiteral } from '../sql';
import type { Executor } from './Executor';
import type { Journal, Recorded } from './journal';
import { STATE_TABLE } from './MigrationState';
import type { StepContext } from './Step';

// The record of what the migration has created: objects by their ids, under whatever names they
// are now. Each transaction that creates also records, and an undo drops only what is recorded.
const KEY = 'objects';

interface Created {
  /** See {@link journalOf}. */
  journal: string;
  /** Such as `relation 16384`. */
  known: string[];
}

/** Relations and types, or functions by their signatures. */
type Names = readonly string[];

/** What stands under names. */
interface Found {
  name: string;
  /** Such as `relation 16384`. */
  identity: string;
}

/**
 * SQL for what tells the database from the one that the record was made in: the object id of the
 * state table, which a dump does not keep, and the major version: pg_upgrade gives functions other
 * ids.
 */
const journalOf = (table: string) =>
  `${table}::oid::text || ' of ' || current_setting('server_version_num')::int / 10000`;

const JOURNAL = journalOf(`'${STATE_TABLE}'::regclass`);

const asJson = (value: unknown) => escapeLiteral(JSON.stringify(value));

function identities(names: string): string {
  return `select name, identity from (
  select name, case when name like '%(%' then 'function ' || to_regprocedure(name)::oid
           else coalesce(
             (select 'relation ' || r.oid from pg_class r
               where r.relnamespace = n.oid and r.relname = name),
             (select 'type ' || t.oid from pg_type t
               where t.typnamespace = n.oid and t.typname = name)) end as identity
    from jsonb_array_elements_text(${names}::jsonb) name
    left join pg_namespace n on n.nspname = current_schema()) found
 where identity is not null`;
}

const IN_USE = TENANT_TABLES.map(table => `to_regclass('${table}')`).join(', ');

/**
 * Those of them that are not ours: neither recorded, nor an index of a table that is. An index
 * of a table in use, whose build may have been interrupted, is ours if it has the column of ours.
 */
function foreign(names: string, known: string): string {
  return `select * from (
${identities(names)}) standing
 where identity <> all (${known}) and not exists (
   select from pg_index i
    where 'relation ' || i.indexrelid = identity
      and ('relation ' || i.indrelid = any (${known})
        or i.indrelid in (${IN_USE}) and pg_get_indexdef(i.indexrelid) like '%tenant\\_id%'))`;
}

const RECORDED = `array(
  select jsonb_array_elements_text(value -> 'known') from ${STATE_TABLE} where key = '${KEY}')`;

/** What steps create. */
export function creationsOf(steps: readonly Recorded[]): Names {
  return steps.flatMap(({ creates = [] }) => creates);
}

/** The objects that exist under names, also those of others. */
function findStanding(executor: Executor, names: Names): Promise<Found[]> {
  return executor.read<Found>(identities('$1'), [JSON.stringify(names)]);
}

/** The record as it is to be: where ids are others, what stands there of steps that are done. */
async function readKnown(
  { executor, state }: StepContext,
  journal: Journal,
): Promise<{ known: string[]; isRestored: boolean }> {
  const stored = await state.get<Created>(KEY);
  const [{ here }] = await executor.read<{ here: string | null }>(
    `select ${journalOf(`to_regclass('${STATE_TABLE}')`)} as here`,
  );
  if (!stored || stored.journal === here) {
    return { known: stored?.known ?? [], isRestored: false };
  }
  const done = journal.steps.filter(step => journal.isDone(step));
  const found = await findStanding(executor, creationsOf(done));
  return { known: found.map(({ identity }) => identity), isRestored: true };
}

/** Records anew what a restored or upgraded database has, whose objects have other ids. */
export async function renewRecord(
  context: StepContext,
  journal: Journal,
): Promise<void> {
  const { known, isRestored } = await readKnown(context, journal);
  if (isRestored) {
    await context.executor.execute(
      `update ${STATE_TABLE}
   set value = jsonb_build_object('journal', ${JOURNAL},
                                  'known', ${asJson(known)}::jsonb)
 where key = '${KEY}'`,
    );
  }
}

/** Forgets the record, once no step is done. */
export const FORGET_CREATED = `delete from ${STATE_TABLE} where key = '${KEY}'`;

/** What stands under names and is not ours, in words. */
export async function foreignNames(
  context: StepContext,
  journal: Journal,
  names: Names,
): Promise<string[]> {
  const { known } = await readKnown(context, journal);
  const found = await context.executor.read<Found>(
    foreign('$1', '$2::text[]'),
    [JSON.stringify([...new Set(names)]), known],
  );
  return found.map(
    ({ name, identity }) => `the ${identity.split(' ')[0]} ${name}`,
  );
}

/** The names that are taken of all that steps would still create. */
export function takenNames(
  context: StepContext,
  journal: Journal,
): Promise<string[]> {
  const steps = journal.steps.filter(step => !journal.isDone(step));
  return foreignNames(context, journal, creationsOf(steps));
}

/** @throws {@link RefusedError} for names that are taken */
export function refuseTaken(taken: string[]): void {
  if (taken.length > 0) {
    throw namesTaken(taken);
  }
}

/**
 * Whether a step that was begun and not recorded has created anything: what stands under its
 * names is not all others'.
 */
export async function hasCreated(
  context: StepContext,
  journal: Journal,
  step: Recorded,
): Promise<boolean> {
  const names = creationsOf([step]);
  const others = await foreignNames(context, journal, names);
  const standing = await findStanding(context.executor, names);
  return others.length === 0 || others.length < standing.length;
}

/** The statement that fails if something stands under names that is not ours. */
export function refuseStatement(names: Names): string {
  return doBlock(`declare
  names text := (select string_agg('the ' || split_part(identity, ' ', 1) || ' ' || name, ', ') from (
${foreign(asJson(names), RECORDED)}) others);
begin
  if names is not null then
    raise exception '%', names using errcode = '${FOREIGN}';
  end if;
end`);
}

/** The statement that records what stands under names, for the transaction that created it. */
export function recordStatement(names: Names): string {
  return `insert into ${STATE_TABLE} as s (key, value)
select '${KEY}', jsonb_build_object('journal', ${JOURNAL},
       'known', coalesce(jsonb_agg(identity), '[]')) from (
${identities(asJson(names))}) created
on conflict (key) do update set value = jsonb_set(s.value, '{known}', (
  select coalesce(jsonb_agg(distinct i), '[]')
    from jsonb_array_elements((s.value -> 'known') || (excluded.value -> 'known')) i))`;
}

/**
 * The context in which each transaction fails unless names are free or ours, and records what it
 * creates.
 */
export function recording(context: StepContext, names: Names): StepContext {
  const { executor } = context;
  if (executor.dryRun || names.length === 0) {
    return context;
  }
  const check = refuseStatement(names);
  const record = recordStatement(names);
  return {
    ...context,
    executor: {
      ...executor,
      async execute(statement) {
        await executor.execute(check);
        await executor.execute(statement);
      },
      transaction: transaction =>
        executor.transaction({
          ...transaction,
          statements: [check, ...transaction.statements, record],
        }),
    },
  };
}
