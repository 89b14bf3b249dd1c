import { RefusedError } from '../errors';
import { escapeLiteral } from '../sql';
import type { Journal } from './journal';
import type { Executor } from './Executor';
import { STATE_TABLE } from './MigrationState';
import type { Creation, Step, StepContext } from './Step';

// Steps create with IF NOT EXISTS and OR REPLACE, so that they can be repeated, and their
// undo drops by name. So they first prove that the migration owns an object: its name was
// free when the step claimed it, and the object there now is the one that the step created.

const KEY = 'objects';

/** What the migration knows of the objects that it has created. */
interface Ownership {
  /**
   * The object id of the state table itself. It differs where the database was
   * restored from a dump, which gives every object another id.
   */
  journal: string;
  /** Steps that have begun. Their names were free then. */
  claimed: string[];
  /** The identities of what steps have created, under whatever name it is now. */
  known: string[];
}

/** The identities of what the migration has created: `relation 16384`. */
export async function readCreated(
  state: StepContext['state'],
): Promise<string[]> {
  return (await state.get<Ownership>(KEY))?.known ?? [];
}

/** An object that stands under a name. */
export interface Found {
  kind: Creation['kind'];
  name: string;
  table: string | null;
  identity: string;
}

/** The objects that stand under names, as rows with their identities. */
function identities(creations: string): string {
  return `select kind, name, "table", identity from (
  select c.kind, c.name, c."table", case c.kind
    when 'relation' then coalesce(
      (select 'relation ' || r.oid from pg_class r
        where r.relnamespace = n.oid and r.relname = c.name),
      (select 'type ' || t.oid from pg_type t
        where t.typnamespace = n.oid and t.typname = c.name))
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
    end as identity
    from jsonb_to_recordset(${creations}::jsonb) as c (kind text, name text, "table" text)
    left join pg_namespace n on n.nspname = current_schema()) found
 where identity is not null`;
}

/** The objects with the names of creations, by any creator. */
export async function findCreations(
  executor: Executor,
  creations: Creation[],
): Promise<Found[]> {
  if (creations.length === 0) {
    return [];
  }
  return executor.read<Found>(identities('$1'), [JSON.stringify(creations)]);
}

async function creationsOf(
  context: StepContext,
  steps: readonly Pick<Step, 'creates'>[],
): Promise<Creation[]> {
  const creations: Creation[] = [];
  for (const step of steps) {
    creations.push(...((await step.creates?.(context)) ?? []));
  }
  return creations;
}

/** The objects of one migration, as far as it has come. */
class ObjectOwnership {
  static async read(
    context: StepContext,
    journal: Journal,
  ): Promise<ObjectOwnership> {
    const { executor, state } = context;
    const stored = await state.get<Ownership>(KEY);
    const [{ table }] = await executor.read<{ table: string | null }>(
      `select to_regclass('${STATE_TABLE}')::oid::text as table`,
    );
    const restored = stored !== undefined && stored.journal !== table;
    const claimed = stored?.claimed ?? [];
    const known = new Set(restored ? [] : stored?.known);
    // Nothing is known yet of a step that was killed, nor of one that was done
    // before there was this record, or in a database that was restored.
    const unknown = journal.steps.filter(step => {
      const begun = claimed.includes(step.name);
      const done = journal.isDone(step);
      return restored ? begun || done : begun !== done;
    });
    const found = await findCreations(
      executor,
      await creationsOf(context, unknown),
    );
    found.forEach(({ identity }) => known.add(identity));
    return new ObjectOwnership(
      context,
      known,
      new Set([...claimed, ...journal.completed]),
    );
  }

  private constructor(
    private readonly context: StepContext,
    private readonly known: Set<string>,
    private readonly begun: Set<string>,
  ) {}

  /** Whether a step has begun: what stands under its names can be ours. */
  hasBegun(step: Step): boolean {
    return this.begun.has(step.name);
  }

  /**
   * What stands under the names of steps and is not ours, in words.
   *
   * @param kinds - all, or those that are to be looked at
   */
  async foreign(
    steps: readonly Pick<Step, 'creates'>[],
    kinds?: Creation['kind'][],
  ): Promise<string[]> {
    const creations = await creationsOf(this.context, steps);
    const found = await findCreations(
      this.context.executor,
      creations.filter(({ kind }) => kinds?.includes(kind) ?? true),
    );
    const foreign = found.filter(({ identity }) => !this.known.has(identity));
    return [...new Set(foreign.map(describeFound))];
  }
}

/**
 * The names that are taken of all that steps would still create.
 *
 * @param steps - those that are to be looked at
 * @param kinds - all, or those that are to be looked at
 */
export async function takenNames(
  context: StepContext,
  journal: Journal,
  steps: readonly Step[],
  kinds?: Creation['kind'][],
): Promise<string[]> {
  const ownership = await ObjectOwnership.read(context, journal);
  return ownership.foreign(
    steps.filter(step => !ownership.hasBegun(step)),
    kinds,
  );
}

/** @throws {@link RefusedError} which names all that is taken */
export async function refuseTakenNames(
  context: StepContext,
  journal: Journal,
  steps: readonly Step[],
): Promise<void> {
  const taken = await takenNames(context, journal, steps);
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

/** The statement with which a step takes its names, which are free. */
export function claimStatement(step: Step): string {
  const name = escapeLiteral(step.name);
  return `insert into ${STATE_TABLE} (key, value)
values ('${KEY}', jsonb_build_object('journal', '${STATE_TABLE}'::regclass::oid::text,
        'claimed', jsonb_build_array(${name}::text), 'known', '[]'::jsonb))
on conflict (key) do update set value = case
  when ${STATE_TABLE}.value -> 'journal' <> excluded.value -> 'journal' then excluded.value
  else jsonb_set(${STATE_TABLE}.value, '{claimed}',
    (${STATE_TABLE}.value -> 'claimed') - ${name}::text || jsonb_build_array(${name}::text)) end`;
}

/** The statement that remembers what a step has created, under whatever ids it has now. */
export function rememberStatement(creations: Creation[]): string {
  return `update ${STATE_TABLE} s
   set value = jsonb_set(s.value, '{known}', (
         select coalesce(jsonb_agg(distinct i), '[]') from (
           select jsonb_array_elements_text(s.value -> 'known') as i
            union select identity from (
${identities(escapeLiteral(JSON.stringify(creations)))}) created) identities))
 where key = '${KEY}'`;
}

/**
 * What a command of its own keeps of the objects that it has created: a record that goes
 * with them, in place of the one of the steps.
 */
export interface OwnRecord {
  /** The object id of the state table, as in the record of the steps. */
  journal: string;
  known: string[];
}

/** The statement that adds such a record to a value of the state. */
export function recordOwnStatement(key: string, creations: Creation[]): string {
  return `update ${STATE_TABLE} s
   set value = s.value || jsonb_build_object(
         'journal', '${STATE_TABLE}'::regclass::oid::text,
         'known', (select coalesce(jsonb_agg(identity), '[]') from (
${identities(escapeLiteral(JSON.stringify(creations)))}) created))
 where key = ${escapeLiteral(key)}`;
}

/** What stands under names, and is not what a record says was created there. */
export async function findForeign(
  executor: Executor,
  record: OwnRecord | undefined,
  creations: Creation[],
): Promise<Found[]> {
  const [{ journal }] = await executor.read<{ journal: string | null }>(
    `select to_regclass('${STATE_TABLE}')::oid::text as journal`,
  );
  // A database that was restored has other ids: there the names have to do.
  if (record && record.journal !== journal) {
    return [];
  }
  const found = await findCreations(executor, creations);
  return found.filter(({ identity }) => !record?.known.includes(identity));
}

/**
 * The statements with which a step that is undone gives its names back. After the last
 * one nothing of the migration is left, nor anything to know of it.
 */
function releaseStatements(step: Step): string[] {
  return [
    `update ${STATE_TABLE}
   set value = jsonb_set(value, '{claimed}', (value -> 'claimed') - ${escapeLiteral(
     step.name,
   )}::text)
 where key = '${KEY}'`,
    `delete from ${STATE_TABLE}
 where key = '${KEY}' and value -> 'claimed' = '[]'`,
  ];
}

/**
 * Refuses to drop or change what stands under names of the migration and is not what
 * the migration has created.
 *
 * @param what - a step that is undone, or a command that drops
 * @throws {@link RefusedError} which names it
 */
export async function refuseForeignObjects(
  context: StepContext,
  journal: Journal,
  what: Pick<Step, 'title' | 'creates'>,
): Promise<void> {
  const ownership = await ObjectOwnership.read(context, journal);
  const foreign = await ownership.foreign([what]);
  if (foreign.length > 0) {
    throw new RefusedError(
      `The migration did not create ${foreign.join(', ')}, and ` +
        `"${what.title}" would drop or change it. Rename what stands there, or move ` +
        'it to another schema.',
    );
  }
}

/**
 * Refuses an undo of steps before it begins, where tables or functions stand in the
 * place of what they have created. The rest belongs to tables, which a swap exchanges
 * on the way: each step looks at it when its turn has come.
 *
 * @throws {@link RefusedError} which names them
 */
export async function refuseForeignRelations(
  context: StepContext,
  journal: Journal,
  steps: readonly Step[],
): Promise<void> {
  const ownership = await ObjectOwnership.read(context, journal);
  const foreign = await ownership.foreign(steps, ['relation', 'function']);
  if (foreign.length > 0) {
    throw new RefusedError(
      `The migration did not create ${foreign.join(', ')}, and the ` +
        'undo would drop or change what stands there. Rename it, or move it to ' +
        'another schema.',
    );
  }
}

/** Runs the undo of a step, which gives its names back. */
export async function undoOwned(
  context: StepContext,
  step: Step,
): Promise<void> {
  const creations = await creationsOf(context, [step]);
  await step.down(context);
  if (creations.length > 0) {
    await context.executor.execute(rememberStatement(creations));
    for (const statement of releaseStatements(step)) {
      await context.executor.execute(statement);
    }
  }
}

/**
 * Undoes a step that was begun and not recorded. One that has not even claimed its
 * names has created nothing: the objects with these names belong to others.
 */
export async function undoBegun(
  context: StepContext,
  journal: Journal,
  step: Step,
): Promise<void> {
  const ownership = await ObjectOwnership.read(context, journal);
  if (!step.creates || ownership.hasBegun(step)) {
    await undoOwned(context, step);
  }
}

/** Runs a step, whose names must be free or ours. */
export async function runOwned(
  context: StepContext,
  journal: Journal,
  step: Step,
): Promise<void> {
  const { executor } = context;
  const creations = await creationsOf(context, [step]);
  if (creations.length === 0) {
    await step.up(context);
    return;
  }
  await refuseTakenNames(context, journal, [step]);
  await executor.execute(claimStatement(step));
  await step.up(context);
  await executor.execute(rememberStatement(creations));
}

/** An object in words: `the trigger x of entities`. */
export function describeFound({ kind, name, table, identity }: Found): string {
  if (identity.startsWith('type ')) {
    return `the type ${name}`;
  }
  return table ? `the ${kind} ${name} of ${table}` : `the ${kind} ${name}`;
}
