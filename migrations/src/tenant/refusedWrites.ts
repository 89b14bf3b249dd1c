import type { Executor } from '../engine/Executor';
import type { MigrationSession } from '../session/MigrationSession';
import { TENANT_SETTING } from '../schema/policies';
import { escapeIdentifier, escapeLiteral } from '../sql';
import { type FoundSection, isOwnSchema, nameOf } from './sections';

/** The tenant of which nothing is written. */
interface Refused {
  tenantId: string;
  slug: string;
  /** The schema of the registry, which may be in another database. */
  registry: string;
}

/**
 * For how long triggers refuse at most, where the command is killed or the registry, which may say
 * that the tenant is restored, is in another database. No request takes that long.
 */
export const REFUSED_FOR = '10 minutes';

/** The name of the function, in each schema that has tables of the tenant. */
export function functionOf(tenantId: string): string {
  return `refuse_writes_of_${tenantId.replaceAll('-', '')}`;
}

/**
 * Has triggers refuse all changes of a tenant's rows, also by requests that were let in before,
 * and after the tenant is in use elsewhere. Writers that have begun are waited for.
 *
 * @param sections - tables of one part of the tenant, in one database
 */
export async function refuseWrites(
  executor: Executor,
  refused: Refused,
  sections: FoundSection[],
): Promise<void> {
  if (sections.length === 0) {
    return;
  }
  const [{ part }] = sections;
  const schemas = [...new Set(sections.map(({ schema }) => schema))];
  await executor.transaction({
    title: `Refuse changes: ${part}`,
    locks: `SHARE ROW EXCLUSIVE on ${
      isOwnSchema(part)
        ? 'the tables, which the tenant alone uses'
        : 'the tables of all tenants'
    }: waits for their writers, who wait for it up to --max-pause at a time. Once granted, it ends at once.`,
    tables: sections.map(nameOf),
    mode: 'share row exclusive',
    statements: [
      ...(await functionStatements(executor, refused, schemas)),
      ...sections.flatMap(section => triggerStatements(section, refused)),
    ],
  });
}

/**
 * Lets the caller's transaction change the tenant's rows, as the login: others are refused until
 * it commits, and from then on nobody is, unless it has called the result.
 *
 * Locks: none that a writer waits for. The functions are replaced, and the triggers stay.
 *
 * @returns refuses changes again, as before
 */
export async function allowWritesOnCommit(
  session: MigrationSession,
  tenantId: string,
): Promise<() => Promise<void>> {
  const functions = await session.query<{ name: string; definition: string }>(
    `select format('%I.%I', n.nspname, p.proname) as name, pg_get_functiondef(p.oid) as definition
       from pg_proc p join pg_namespace n on n.oid = p.pronamespace where p.proname = $1`,
    [functionOf(tenantId)],
  );
  for (const { name } of functions) {
    await session.query(
      `create or replace function ${name}() returns trigger language plpgsql as 'begin return null; end'`,
    );
  }
  return async () => {
    for (const { definition } of functions) {
      await session.query(definition);
    }
  };
}

/** Removes those triggers, if there are any. */
export async function allowWrites(
  executor: Executor,
  tenantId: string,
): Promise<void> {
  const name = functionOf(tenantId);
  for (const schema of await schemasWith(executor, tenantId)) {
    const triggers = await executor.read<{ table: string }>(
      `select distinct format('%I.%I', n.nspname, c.relname) as table
         from pg_trigger t join pg_class c on c.oid = t.tgrelid
         join pg_namespace n on n.oid = c.relnamespace
        where n.nspname = $1 and tgfoid = to_regproc(format('%I.%I', n.nspname, $2::text))`,
      [schema, name],
    );
    await executor.transaction({
      title: `Allow changes: ${schema}`,
      locks:
        'ACCESS EXCLUSIVE on the tables with such a trigger, for a change of the catalog.',
      tables: triggers.map(({ table }) => table),
      statements: [
        `drop function if exists ${escapeIdentifier(schema)}.${name} cascade`,
      ],
    });
  }
}

async function schemasWith(
  executor: Executor,
  tenantId: string,
): Promise<string[]> {
  const schemas = await executor.read<{ schema: string }>(
    `select nspname as schema from pg_proc join pg_namespace n on n.oid = pronamespace
      where proname = $1 order by 1`,
    [functionOf(tenantId)],
  );
  return schemas.map(({ schema }) => schema);
}

async function functionStatements(
  executor: Executor,
  { tenantId, slug, registry }: Refused,
  schemas: string[],
): Promise<string[]> {
  const tenants = `${escapeIdentifier(registry)}.tenants`;
  const [{ end, isHere }] = await executor.read<{
    end: Date;
    isHere: boolean | null;
  }>(
    `select clock_timestamp() + interval '${REFUSED_FOR}' as end,
            has_table_privilege(to_regclass($1), 'select')
              and to_regclass('pg_catalog.pg_dist_node') is null as "isHere"`,
    [tenants],
  );
  // SECURITY DEFINER: a plugin's user need not see the registry. A snapshot of before the move
  // would show a tenant that is in use.
  const isRestored = isHere
    ? `current_setting('transaction_isolation') = 'read committed'
       and exists (select from ${tenants} where tenant_id = ${escapeLiteral(
        tenantId,
      )}
                      and deleted_at is null and read_only_until is null)`
    : 'false';
  return schemas.map(
    schema => `create or replace function ${escapeIdentifier(
      schema,
    )}.${functionOf(tenantId)}() returns trigger language plpgsql
  security definer set search_path = pg_catalog, pg_temp as $refuse$
begin
  -- A migration of the mockups, whose triggers are those of rows, has no tenant.
  if clock_timestamp() < ${escapeLiteral(end.toISOString())}
     and (tg_level = 'STATEMENT' or current_setting('${TENANT_SETTING}', true) <> '')
     and not (${isRestored}) then
    raise exception ${escapeLiteral(
      `The tenant '${slug}' is read-only while it is moved: try again later`,
    )} using errcode = 'read_only_sql_transaction', constraint = 'tenant_moves', detail = ${escapeLiteral(
      slug,
    )};
  end if;
  return null;
end
$refuse$`,
  );
}

/** Rows of other tenants are not looked at any further than at their tenant. */
function triggerStatements(
  section: FoundSection,
  { tenantId }: Refused,
): string[] {
  const of = (row: string) =>
    `for each row when (${row}.tenant_id = ${escapeLiteral(tenantId)})`;
  const events = isOwnSchema(section.part)
    ? ['before insert or update or delete']
    : ['after insert or update', 'after delete'];
  const name = functionOf(tenantId);
  return events.map((event, index) => {
    const rows = isOwnSchema(section.part)
      ? 'for each statement'
      : of(index === 0 ? 'new' : 'old');
    return `create or replace trigger ${name}_${index} ${event} on ${nameOf(
      section,
    )}
  ${rows} execute function ${escapeIdentifier(section.schema)}.${name}()`;
  });
}
