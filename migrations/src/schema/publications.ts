import type { StepContext } from '../engine/Step';
import { RefusedError } from '../errors';
import { defaultTenantPartition, isSwapped } from './partitions';
import { TENANT_TABLES } from './tables';
import { escapeIdentifier } from '../sql';
import { enumerate, script } from '../text';

// A publication holds tables by their OIDs, and its subscribers have tables of their own. So
// nothing of it follows the new column, the new tables and the swap: the tables leave every
// publication before phase 1, and the operator puts them back after phase 5.

type Context = Pick<StepContext, 'executor' | 'settings'>;

/** The publications that have the tables, or get those that the migration creates. */
interface Publications {
  message: string;
  advice: string;
  /** The statements that take the tables out, and put them back later. */
  sql: string;
  /** Those that get every table which a new tenant adds. */
  growing: string[];
}

interface Row {
  name: string;
  /** FOR ALL TABLES, or IN SCHEMA of the tables: it gets every table that is added. */
  grows: boolean;
  /** The tables that it names, as SQL. After the swap these may be partitions. */
  members: string[];
}

/**
 * Refuses a command that changes the tables while a publication has them.
 *
 * @throws {@link RefusedError} with all publications
 */
export async function refusePublications(
  context: Context,
  what: string,
): Promise<void> {
  const found = await findPublications(context);
  if (found) {
    const { message, advice, sql } = found;
    throw new RefusedError(
      `${what}: ${message} ${advice}\n${sql.replace(/^/gm, '    ')}`,
    );
  }
}

/** The statement that fails if a table in use has been published since the checks. */
export const refuseLaterPublications = `do $$ begin
  if exists (select from pg_publication_rel r join pg_class c on c.oid = r.prrelid
              where coalesce(pg_partition_root(c.oid)::oid, c.oid)
                      in (${TENANT_TABLES.map(
                        table => `'${table}'::regclass`,
                      ).join(', ')})) then
    raise exception 'A table was added to a publication a moment ago'
      using errcode = 'integrity_constraint_violation',
            hint = 'Run the command again: it has the statements that take it out.';
  end if;
end $$`;

/** The publications that have the tables in use, or will have those that are created. */
export async function findPublications(
  context: Context,
): Promise<Publications | undefined> {
  const rows = await readPublications(context);
  if (rows.length === 0) {
    return undefined;
  }
  const swapped = await isSwapped(context.executor);
  const schema = escapeIdentifier(context.settings.schema);
  const later = TENANT_TABLES.map(
    table => `${schema}.${swapped ? table : defaultTenantPartition(table)}`,
  ).join(', ');
  const named = rows.filter(({ members }) => members.length > 0);
  return {
    growing: rows.filter(({ grows }) => grows).map(({ name }) => name),
    message: `Publications have the tables, or get those that are added: ${enumerate(
      rows.map(describe),
    )}.`,
    advice:
      'Take the tables out, refresh the subscriptions, and put them back afterwards.',
    sql: [
      script([
        ...named.map(
          ({ name, members }) =>
            `alter publication ${escapeIdentifier(
              name,
            )} drop table ${members.join(', ')}`,
        ),
        ...rows
          .filter(({ grows }) => grows)
          .map(
            ({ name }) =>
              `drop publication ${escapeIdentifier(
                name,
              )} /* make it again with named tables */`,
          ),
      ]),
      `-- ${
        swapped ? 'After the rollback' : 'After phase 5'
      }, for the default tenant's rows:`,
      script(
        rows.map(
          ({ name }) =>
            `alter publication ${escapeIdentifier(name)} add table ${later}`,
        ),
      ),
    ].join('\n'),
  };
}

function describe({ name, grows, members }: Row): string {
  return `${name} (${grows ? 'all tables' : members.join(', ')})`;
}

async function readPublications({
  executor,
  settings,
}: Context): Promise<Row[]> {
  const [{ version }] = await executor.read<{ version: number }>(
    `select current_setting('server_version_num')::int as version`,
  );
  const ofSchema =
    version >= 150000
      ? `exists (select from pg_publication_namespace s join pg_namespace n on n.oid = s.pnnspid
                  where s.pnpubid = p.oid and n.nspname = $1)`
      : 'false';
  return executor.read<Row>(
    `select * from (
       select p.pubname as name, p.puballtables or ${ofSchema} as grows,
              array(
                select format('%I.%I', n.nspname, c.relname)
                  from pg_publication_rel r
                  join pg_class c on c.oid = r.prrelid
                  join pg_namespace n on n.oid = c.relnamespace
                  join pg_class o on o.oid = coalesce(pg_partition_root(c.oid)::oid, c.oid)
                 where r.prpubid = p.oid and n.nspname = $1 and o.relname = any ($2)
                 order by array_position($2, o.relname::text), c.relname) as members
         from pg_publication p) found
      where grows or cardinality(members) > 0
      order by name`,
    [settings.schema, [...TENANT_TABLES]],
  );
}
