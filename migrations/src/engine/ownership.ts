import { DatabaseError } from 'pg';
import { RefusedError } from '../errors';
import { doBlock, escapeLiteral } from '../sql';
import type { Journal, Recorded } from './journal';
import type { Executor } from './Executor';
import { STATE_TABLE } from './MigrationState';
import type { Creation, Step, StepContext } from './Step';

// The record of what the migration has created. Each transaction that creates also records,
// and an undo drops only what is recorded and still the same object.
const KEY = 'objects';

/** What the migration has created. */
interface Created {
  /**
   * The object id of the state table itself. It differs where the database was
   * restored from a dump, which gives every object another id.
   */
  journal: string;
  /** Their identities, such as `relation 16384`, under whatever name they are now. */
  known: string[];
}

/** An object that stands under a name. */
export interface Found {
  kind: Creation['kind'];
  name: string;
  table: string | null;
  identity: string;
}

/** The objects that stand under names: with their identities, and that of their table. */
function identities(creations: string): string {
  return `select kind, name, "table", identity, owner from (
  select c.kind, c.name, c."table", case c.kind
    when 'relation' then coalesce(
      (select 'relation ' || r.oid from pg_class r
        where r.relnamespace = n.oid and r.relname = c.name),
      (select 'type ' || t.oid from pg_type t
        where t.typnamespace = n.oid and t.typname = c.name))
    when 'original' then (
      select 'original ' || r.oid from pg_class r
       where r.relnamespace = n.oid and r.relname = c.name)
    when 'function' then 'function ' || to_regprocedure(c.name)::oid
    when 'column' then (
      select 'column ' || a.attrelid || ' ' || a.attnum from pg_attribute a
       where a.attrelid = to_regclass(c."table") and a.attname = c.name
         and not a.attisdropped)
    when 'constraint' then (
      select 'constraint ' || k.oid from pg_constraint k
       where k.conrelid = to_regclass(c."table") and k.conname = c.name)
    when 'trigger' then (
      select 'trigger ' || t.oid from pg_trigger t
       where t.tgrelid = to_regclass(c."table") and t.tgname = c.name)
    when 'policy' then (
      select 'policy ' || p.oid from pg_policy p
       where p.polrelid = to_regclass(c."table") and p.polname = c.name)
    end as identity,
    'relation ' || coalesce(to_regclass(c."table")::oid, (
      select i.indrelid from pg_index i join pg_class r on r.oid = i.indexrelid
       where r.relnamespace = n.oid and r.relname = c.name)) as owner
    from jsonb_to_recordset(${creations}::jsonb) as c (kind text, name text, "table" text)
    left join pg_namespace n on n.nspname = current_schema()) found
 where identity is not null`;
}

/**
 * Those of them that are not ours: neither recorded, nor of a table that is, nor an index
 * whose build was interrupted.
 */
function foreign(creations: string, known: string): string {
  return `select * from (
${identities(creations)}) standing
 where not (identity = any (${known}) or coalesce(owner = any (${known}), false)
         or replace(identity, 'original', 'relation') = any (${known})
         or 'building ' || name = any (${known}))`;
}

const RECORDED = `array(
  select jsonb_array_elements_text(value -> 'known') from ${STATE_TABLE} where key = '${KEY}')`;

/** The objects with the names of creations, by any creator. */
export async function findCreations(
  executor: Executor,
  creations: Creation[],
): Promise<Found[]> {
  return creations.length === 0
    ? []
    : executor.read<Found>(identities('$1'), [JSON.stringify(creations)]);
}

/** What steps create. */
export async function creationsOf(
  context: StepContext,
  steps: readonly Pick<Recorded, 'creates'>[],
): Promise<Creation[]> {
  const creations: Creation[] = [];
  for (const step of steps) {
    creations.push(...((await step.creates?.(context)) ?? []));
  }
  return creations;
}

/** The names of the relations that steps create. */
export async function createdRelations(
  context: StepContext,
  steps: readonly Pick<Recorded, 'creates'>[],
): Promise<string[]> {
  const creations = await creationsOf(context, steps);
  return creations
    .filter(({ kind }) => kind === 'relation')
    .map(({ name }) => name);
}

/** The record as it is to be: in a restored database, what stands there of steps that are done. */
async function readKnown(
  context: StepContext,
  journal: Journal,
): Promise<{ known: string[]; isRestored: boolean }> {
  const { executor, state } = context;
  const stored = await state.get<Created>(KEY);
  const [{ table }] = await executor.read<{ table: string | null }>(
    `select to_regclass('${STATE_TABLE}')::oid::text as table`,
  );
  if (!stored || stored.journal === table) {
    return { known: stored?.known ?? [], isRestored: false };
  }
  const done = journal.steps.filter(step => journal.isDone(step));
  const found = await findCreations(executor, await creationsOf(context, done));
  return { known: found.map(({ identity }) => identity), isRestored: true };
}

/** Records anew what a restored database has, whose objects have other ids. */
export async function renewRecord(
  context: StepContext,
  journal: Journal,
): Promise<void> {
  const { known, isRestored } = await readKnown(context, journal);
  if (isRestored) {
    await context.executor.execute(
      `update ${STATE_TABLE}
   set value = jsonb_build_object('journal', '${STATE_TABLE}'::regclass::oid::text,
                                  'known', ${escapeLiteral(
                                    JSON.stringify(known),
                                  )}::jsonb)
 where key = '${KEY}'`,
    );
  }
}

/** Forgets the record, once no step is done. */
export const FORGET_CREATED = `delete from ${STATE_TABLE} where key = '${KEY}'`;

/**
 * What stands under the names of steps and is not ours, in words.
 *
 * @param kinds - all, or those that are to be looked at
 */
export async function foreignNames(
  context: StepContext,
  journal: Journal,
  steps: readonly Pick<Recorded, 'creates'>[],
  kinds?: Creation['kind'][],
): Promise<string[]> {
  const creations = (await creationsOf(context, steps)).filter(
    ({ kind }) => kinds?.includes(kind) ?? true,
  );
  if (creations.length === 0) {
    return [];
  }
  const { known } = await readKnown(context, journal);
  const found = await context.executor.read<Found>(
    foreign('$1', '$2::text[]'),
    [JSON.stringify(creations), known],
  );
  return [...new Set(found.map(describeFound))];
}

/** The names that are taken of all that steps would still create. */
export function takenNames(
  context: StepContext,
  journal: Journal,
  kinds?: Creation['kind'][],
): Promise<string[]> {
  const steps = journal.steps.filter(step => !journal.isDone(step));
  return foreignNames(context, journal, steps, kinds);
}

/** @throws {@link RefusedError} which names all that is taken */
export async function refuseTakenNames(
  context: StepContext,
  journal: Journal,
): Promise<void> {
  const taken = await takenNames(context, journal);
  if (taken.length > 0) {
    throw new RefusedError(explainTaken(taken));
  }
}

/** What the operator does about names that are taken. */
export function explainTaken(taken: string[]): string {
  return `The migration did not create ${taken.join(', ')}, and needs ${
    taken.length === 1 ? 'that name' : 'those names'
  }. Rename what stands there, or move it to another schema.`;
}

/**
 * Refuses an undo of steps before it begins, where tables or functions stand in the
 * place of what they have created. The rest belongs to tables, which a swap exchanges
 * on the way: each transaction looks at it.
 *
 * @throws {@link RefusedError} which names them
 */
export async function refuseForeignRelations(
  context: StepContext,
  journal: Journal,
  steps: readonly Pick<Recorded, 'creates'>[],
): Promise<void> {
  const names = await foreignNames(context, journal, steps, [
    'relation',
    'function',
  ]);
  if (names.length > 0) {
    throw new RefusedError(explainTaken(names));
  }
}

const FOREIGN = 'P0T01';
// Of a table, an object, a function or a column: a name that was taken a moment ago.
const DUPLICATES = ['42P07', '42710', '42723', '42701'];

/** The statement that fails if something stands under names that is not ours. */
export function refuseStatement(creations: Creation[]): string {
  return doBlock(`declare
  names text := (select string_agg(concat('the ', kind, ' ', name, ' of ' || "table"), ', ') from (
${foreign(escapeLiteral(JSON.stringify(creations)), RECORDED)}) others);
begin
  if names is not null then
    raise exception '%', names using errcode = '${FOREIGN}';
  end if;
end`);
}

/** The statement that records what stands under names, for the transaction that created it. */
export function recordStatement(creations: Creation[]): string {
  return `insert into ${STATE_TABLE} as s (key, value)
select '${KEY}', jsonb_build_object('journal', '${STATE_TABLE}'::regclass::oid::text,
       'known', coalesce(jsonb_agg(identity), '[]')) from (
${identities(escapeLiteral(JSON.stringify(creations)))}) created
on conflict (key) do update set value = jsonb_set(s.value, '{known}', (
  select coalesce(jsonb_agg(distinct i), '[]')
    from jsonb_array_elements((s.value -> 'known') || (excluded.value -> 'known')) i))`;
}

/**
 * The statement that records the build of an index, which can be no part of a transaction:
 * the index is ours also if the command is killed before it is recorded.
 */
export function recordBuildStatement(index: string): string {
  const building = escapeLiteral(JSON.stringify([`building ${index}`]));
  return `insert into ${STATE_TABLE} as s (key, value)
values ('${KEY}', jsonb_build_object('journal', '${STATE_TABLE}'::regclass::oid::text, 'known', ${building}::jsonb))
on conflict (key) do update set value = jsonb_set(s.value, '{known}', (s.value -> 'known') || ${building}::jsonb)`;
}

/** The statement that ends {@link recordBuildStatement}. */
export const FORGET_BUILDS = `update ${STATE_TABLE} set value = jsonb_set(value, '{known}', (
  select coalesce(jsonb_agg(i), '[]') from jsonb_array_elements(value -> 'known') i
   where i #>> '{}' not like 'building %'))
 where key = '${KEY}'`;

/** What the database says where a name is taken, in words. */
export function explainDuplicate(error: unknown): unknown {
  if (!(error instanceof DatabaseError)) {
    return error;
  }
  if (error.code === FOREIGN) {
    return new RefusedError(explainTaken([error.message]));
  }
  return DUPLICATES.includes(error.code ?? '')
    ? new RefusedError(
        `A name that the migration needs is taken: ${error.message}. Rename what stands ` +
          'there, or move it to another schema.',
      )
    : error;
}

/**
 * Whether a step that was begun and not recorded has created anything: the tables and functions
 * under its names are not all others'.
 */
export async function hasCreated(
  context: StepContext,
  journal: Journal,
  step: Step,
): Promise<boolean> {
  const kinds: Creation['kind'][] = ['relation', 'function'];
  const others = await foreignNames(context, journal, [step], kinds);
  const creations = await creationsOf(context, [step]);
  const standing = await findCreations(
    context.executor,
    creations.filter(({ kind }) => kinds.includes(kind)),
  );
  return others.length === 0 || others.length < standing.length;
}

/** An object in words: `the trigger x of entities`. */
export function describeFound({ kind, name, table, identity }: Found): string {
  if (identity.startsWith('type ')) {
    return `the type ${name}`;
  }
  const what = kind === 'original' ? 'relation' : kind;
  return table ? `the ${what} ${name} of ${table}` : `the ${what} ${name}`;
}
