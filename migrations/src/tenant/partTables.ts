import { QUOTA_SEQUENCE } from '../adopt/quota';
import { notifyRegistryStatement } from '../registryChannel';
import { readerOf } from '../engine/Executor';
import type { StepContext } from '../engine/Step';
import { RETIRED_TABLE } from '../schema/tables';
import { lockStatements, withLockRetries } from '../session/lockRetries';
import type { MigrationSession } from '../session/MigrationSession';
import { escapeIdentifier, escapeLiteral } from '../sql';
import { nameOf, tablesInOrder } from './sections';

/**
 * Fills the tables of an engine or instance, in the caller's transaction, without their triggers:
 * rows come with what these have made of them.
 *
 * Locks: ACCESS EXCLUSIVE on the tables until the end of the transaction, all of them before a
 * weaker lock of one. Only the engine or instance uses them, and it waits. While others hold them,
 * such as a backup, it is asked for up to --max-pause at a time.
 */
export async function fillOwnTables(
  { reporter, settings }: Pick<StepContext, 'reporter' | 'settings'>,
  session: MigrationSession,
  schema: string,
  fill: () => Promise<void>,
): Promise<void> {
  const tables = await tableNames(session, schema);
  if (tables.length > 0) {
    await session.query('savepoint unlocked');
    await withLockRetries(
      { executor: { session }, reporter, settings },
      { title: `Lock the tables of ${schema}`, tables },
      async timeoutMs => {
        try {
          await session.query(
            [
              ...lockStatements({ tables }, timeoutMs),
              'set local lock_timeout = 0',
            ].join(';\n'),
          );
        } catch (error) {
          await session.query('rollback to savepoint unlocked');
          throw error;
        }
      },
    );
  }
  const enable = await disableTriggers(session, schema);
  await fill();
  for (const statement of enable) {
    await session.query(statement);
  }
  await advanceSequences(session, schema);
}

/** Has backends look at a tenant anew, whose slug is taken from now on. */
export async function announce(
  session: Pick<MigrationSession, 'query'>,
  schema: string,
  tenantSlug: string,
): Promise<void> {
  await session.query(
    `delete from ${RETIRED_TABLE} where tenant_slug = ${escapeLiteral(
      tenantSlug,
    )};
     ${notifyRegistryStatement(schema, { tenantSlug })}`,
  );
}

/** The tables of an engine or instance as SQL. */
async function tableNames(
  session: Pick<MigrationSession, 'query'>,
  schema: string,
): Promise<string[]> {
  const tables = await tablesInOrder(readerOf(session), schema);
  return tables.map(table => nameOf({ schema, table }));
}

/**
 * Fills tables of an engine or instance anew, in the caller's transaction, without their indexes
 * and references, and makes these of all rows at once: that takes a fraction of the time. What a
 * primary key or another constraint has for itself stays.
 *
 * Locks: none beyond those of {@link fillOwnTables}, inside of which it runs.
 */
export async function fillWithoutIndexes(
  session: MigrationSession,
  schema: string,
  fill: () => Promise<void>,
): Promise<void> {
  const names = await tableNames(session, schema);
  if (names.length > 0) {
    // Migrations may have filled them.
    await session.query(`truncate ${names.join(', ')}`);
  }
  const removed = await session.query<{ drop: string; create: string }>(
    `select format('alter table %s drop constraint %I', conrelid::regclass, conname) as drop,
            format('alter table %s add constraint %I %s', conrelid::regclass, conname,
                   pg_get_constraintdef(oid)) as create
       from pg_constraint
      where connamespace = $1::regnamespace and contype = 'f' and conparentid = 0
      union all
     select format('drop index %s', i.indexrelid::regclass), pg_get_indexdef(i.indexrelid)
       from pg_index i join pg_class c on c.oid = i.indrelid
      where c.relnamespace = $1::regnamespace and c.relkind = 'r'
        and not exists (select from pg_constraint
                         where conindid = i.indexrelid and contype in ('p', 'u', 'x'))
      order by 1`,
    [escapeIdentifier(schema)],
  );
  for (const { drop } of removed) {
    await session.query(drop);
  }
  await fill();
  // References may need an index: they come last, as they have gone first.
  for (const { create } of removed.reverse()) {
    await session.query(create);
  }
}

/** @returns the statements that enable them again */
async function disableTriggers(
  session: MigrationSession,
  schema: string,
): Promise<string[]> {
  const triggers = await session.query<{ disable: string; enable: string }>(
    `select format('alter table %I.%I disable trigger %I', n.nspname, c.relname, t.tgname) as disable,
            format('alter table %I.%I enable %s trigger %I', n.nspname, c.relname,
                   case t.tgenabled when 'A' then 'always' when 'R' then 'replica' end, t.tgname) as enable
       from pg_trigger t join pg_class c on c.oid = t.tgrelid
       join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = $1 and not t.tgisinternal and t.tgenabled <> 'D'`,
    [schema],
  );
  for (const { disable } of triggers) {
    await session.query(disable);
  }
  return triggers.map(({ enable }) => enable);
}

async function advanceSequences(
  session: MigrationSession,
  schema: string,
): Promise<void> {
  const sequences = await session.query<{ advance: string }>(
    `select format('select setval(%L, coalesce((select max(%I) from %I.%I), 0) + 1, false)',
                   sequence, a.attname, n.nspname, c.relname) as advance
       from pg_attribute a join pg_class c on c.oid = a.attrelid and c.relkind = 'r'
       join pg_namespace n on n.oid = c.relnamespace,
            pg_get_serial_sequence(format('%I.%I', n.nspname, c.relname), a.attname) sequence
      where n.nspname = $1 and a.attnum > 0 and not a.attisdropped and sequence is not null
      union all
     -- It has counted other entities.
     select format('alter sequence %s restart', oid::regclass) from pg_class
      where relnamespace = (select oid from pg_namespace where nspname = $1) and relname = $2`,
    [schema, QUOTA_SEQUENCE],
  );
  for (const { advance } of sequences) {
    await session.query(advance);
  }
}
