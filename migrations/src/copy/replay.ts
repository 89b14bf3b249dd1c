import { CHANGE_LOG } from './changeLog';
import { checksum } from './compare';
import { insertInto, COPIED } from './TableCopy';
import type { TenantTable } from '../schema/tables';
import type { TableCopy } from './TableCopy';
import type { Executor } from '../engine/Executor';
import type { StepContext } from '../engine/Step';
import type { Progress } from '../Reporter';
import type { MigrationSession } from '../session/MigrationSession';

/** The function that replays the change log. */
const REPLAY = 'tenancy_replay_changes';
/** Its signature. */
export const REPLAY_FUNCTION = `${REPLAY}()`;

// One snapshot for the log and the rows (see createReplay).
export const SNAPSHOT = 'begin isolation level repeatable read';

// A log of so many entries is replayed in milliseconds.
const SHORT_LOG = 50;
// More rounds would not shorten a log of so many, or one that has got less than a quarter shorter.
const FEW = 5;
const SHORTER = 0.75;
const ROUNDS = 30;

/** Replays the change log once, and returns how many entries it had. */
async function replayOnce(session: MigrationSession): Promise<number> {
  return session.transaction(SNAPSHOT, async () => {
    const [{ entries }] = await session.query<{ entries: number }>(
      `select ${REPLAY}()::int as entries`,
    );
    return entries;
  });
}

/**
 * Replays the change log until it is short. Each round is as long as what was
 * written during the one before, so that the rounds get shorter as long as
 * replaying is faster than writing.
 */
export async function catchUp(context: StepContext): Promise<void> {
  await context.executor.work({
    title: 'Replay the change log, until it is short',
    script: [SNAPSHOT, `select ${REPLAY}()`, 'commit'],
    run: () => replayRounds(context),
  });
}

async function replayRounds({
  executor: { session },
  reporter,
}: StepContext): Promise<void> {
  const [{ waiting }] = await session.query<{ waiting: number }>(
    `select count(*)::int as waiting from ${CHANGE_LOG}`,
  );
  // Mostly the log is empty.
  const progress =
    waiting > 0 ? reporter.progress('Replay changes', waiting) : undefined;
  await replayUntilShort(session, progress);
  progress?.finish();
}

/**
 * Replays the change log until it is short and no longer gets shorter, or for {@link ROUNDS}
 * rounds: in a swap, writers wait for the replay of what is left.
 */
export async function replayUntilShort(
  session: MigrationSession,
  progress?: Progress,
): Promise<void> {
  let last = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const entries = await replayOnce(session);
    progress?.advance(entries);
    if (entries > SHORT_LOG) {
      // Every replay would read the dead rows again. Without truncation, for which VACUUM
      // waits seconds for ACCESS EXCLUSIVE on the log.
      await session.query(`vacuum (truncate false) ${CHANGE_LOG}`);
    } else if (entries <= FEW || (round > 0 && entries > last * SHORTER)) {
      break;
    }
    last = entries;
  }
}

/**
 * Replays the change log, as a step does before it builds what needs the rows of one moment. The function is created each time:
 * a killed undo leaves that of the way back.
 */
export async function replayChanges(
  context: StepContext,
  copies: TableCopy[],
): Promise<void> {
  await provideReplay(context.executor, copies);
  await catchUp(context);
}

// Variables with a prefix that no column of the tables has.
const ENTRIES = 'tenancy_entries';
const keysOf = (table: TenantTable) => `tenancy_${table}_keys`;

/** Creates it, or puts it in the place of that of the other direction. */
export async function provideReplay(
  executor: Executor,
  copies: TableCopy[],
): Promise<void> {
  await executor.transaction({
    title: 'Create the function that replays changes',
    locks: 'A function, which only this command calls.',
    statements: [createReplay(copies)],
  });
}

/**
 * The statement that creates the function `tenancy_replay_changes()`, which makes
 * the targets equal to their sources for all keys in the change log, deletes these from
 * the log, and returns how many entries it had.
 *
 * It must run in a REPEATABLE READ transaction, or while the sources are locked: one
 * snapshot then shows the log and the rows, so equal sides stay equal and no foreign key
 * of a copy is violated. A later commit is in the log of the next call. At the end it
 * compares the rows that it wrote, and raises an error if they differ.
 */
function createReplay(copies: TableCopy[]): string {
  return `create or replace function ${REPLAY}() returns bigint language plpgsql as $$
declare
  ${ENTRIES} bigint;
${copies.map(({ table }) => `  ${keysOf(table)} uuid[];`).join('\n')}
begin
  with entry as (delete from ${CHANGE_LOG} returning table_name, key)
  select count(*)${copies
    .map(copy => `,\n         ${selectKeys(copy)}`)
    .join('')}
    into ${ENTRIES}${copies.map(({ table }) => `, ${keysOf(table)}`).join('')}
    from entry;
  if ${ENTRIES} = 0 then
    return 0;
  end if;
${copies.map(copy => indent(replayTable(copy, copies))).join('\n')}
${copies.map(copy => indent(compareKeys(copy))).join('\n')}
  return ${ENTRIES};
end $$;
comment on function ${REPLAY} is 'Brings the copy of the default tenant up to date'`;
}

/** The keys of the log; after a TRUNCATE, all keys of both sides. */
function selectKeys({ table, key, source, target }: TableCopy): string {
  const mine = `filter (where table_name = '${table}')`;
  return (
    `case when bool_or(key is null) ${mine}\n` +
    `              then array(select ${key} from ${source} union select ${key} from ${target})\n` +
    `              else array_agg(distinct key) ${mine} end`
  );
}

function replayTable(copy: TableCopy, copies: TableCopy[]): string {
  const statements =
    copy.table === 'entities'
      ? replayEntities(copy, copies.slice(1))
      : replayRows(copy);
  return statements.map(statement => `${statement};`).join('\n');
}

/**
 * Updates entities in place, because relations and refresh_state reference them. Entities
 * may have swapped references, so it first gives each changed one an unused reference. If
 * another unique value was swapped, it replaces the entities with the rows that reference
 * them.
 */
function replayEntities(copy: TableCopy, others: TableCopy[]): string[] {
  const { source, target } = copy;
  const keys = `unnest(${keysOf(copy.table)}) k (key)`;
  const same = `s.${COPIED} and s.entity_id = k.key`;
  const assignments = copy.columns
    .filter(column => !['tenant_id', 'entity_id'].includes(column))
    .map(column => `${column} = excluded.${column}`);
  return [
    `delete from ${target} t using ${keys}
 where t.${COPIED} and t.entity_id = k.key
   and not exists (select from ${source} s where ${same})`,
    `update ${target} t
   set entity_name = t.entity_id::text,
       entity_ref = t.entity_kind || ':' || t.entity_namespace || '/' || t.entity_id
  from ${keys} join ${source} s on ${same}
 where t.${COPIED} and t.entity_id = k.key
   and t.entity_ref <> s.entity_ref`,
    `begin
  ${insertRows(copy)}
    on conflict (tenant_id, entity_id) do update set ${assignments.join(', ')};
exception when unique_violation then
${others
  .map(
    ({ table }) =>
      `  ${keysOf(table)} := array(select distinct unnest(${keysOf(
        table,
      )} || ${keysOf(copy.table)}));`,
  )
  .join('\n')}
  ${deleteRows(copy)};
  ${insertRows(copy)};
end`,
  ];
}

/** The other tables may have no primary key: replaces all rows of an entity. */
function replayRows(copy: TableCopy): string[] {
  return [deleteRows(copy), insertRows(copy)];
}

function deleteRows(copy: TableCopy): string {
  return `delete from ${copy.target} t
 using unnest(${keysOf(copy.table)}) k (key)
 where t.${COPIED} and t.${copy.key} = k.key`;
}

function insertRows(copy: TableCopy): string {
  return `${insertInto(copy)}
select ${copy.columns.map(column => `s.${column}`).join(', ')}
  from unnest(${keysOf(copy.table)}) k (key)
  join ${copy.source} s on s.${COPIED} and s.${copy.key} = k.key`;
}

function compareKeys(copy: TableCopy): string {
  const keys = `${copy.key} = any (${keysOf(copy.table)})`;
  const side = (name: string) => checksum(copy, name, keys);
  return `if (${side(copy.source)}) is distinct from (${side(copy.target)}) then
  raise exception 'The rows of ${copy.target} differ from those of ${
    copy.source
  } after a replay'
    using errcode = 'integrity_constraint_violation';
end if;`;
}

function indent(text: string): string {
  return text.replace(/^/gm, '  ');
}
