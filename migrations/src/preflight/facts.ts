import { readCompletedSteps } from '../engine/journal';
import type { StepContext } from '../engine/Step';
import { hidesRows } from '../schema/policies';
import { TENANT_TABLES } from '../schema/tables';
import { escapeIdentifier } from '../sql';
import type { PreflightFacts, TableFacts } from './PreflightCheck';

/** Reads the facts that several checks use. */
export async function readFacts(context: StepContext): Promise<PreflightFacts> {
  const { executor, settings } = context;
  const [server] = await executor.read<
    Omit<PreflightFacts, 'tables' | 'begunPhase' | 'swapped'>
  >(
    `select current_setting('server_version_num')::int as version,
            current_setting('server_version') as "versionText",
            session_user as login, current_database() as database,
            (select rolsuper from pg_roles where rolname = session_user) as superuser,
            exists (select from pg_namespace where nspname = $1) as "schemaExists"`,
    [settings.schema],
  );
  const tables = await readTables(context);
  const begunPhase = await readBegunPhase(context, tables);
  const partitioned = tables.some(
    ({ name, kind }) => name === 'entities' && kind === 'p',
  );
  return {
    ...server,
    tables,
    begunPhase,
    swapped: begunPhase >= 5 && partitioned,
  };
}

// By the name of the schema: the search path ignores a schema that the login may not use,
// and its tables would seem to be missing.
async function readTables({
  executor,
  settings,
}: StepContext): Promise<TableFacts[]> {
  const rows = await executor.read<Omit<TableFacts, 'sql'>>(
    `select c.relname as name, c.oid, c.relkind as kind, o.rolname as owner,
            has_schema_privilege(n.oid, 'usage')
              and has_table_privilege(c.oid, 'select')
              and not (${hidesRows('c')}) as readable
       from pg_class c
       join pg_namespace n on n.oid = c.relnamespace
       join pg_roles o on o.oid = c.relowner
      where n.nspname = $1 and c.relname = any ($2)
        and c.relkind in ('r', 'p', 'v', 'm', 'f')
      order by array_position($2, c.relname::text)`,
    [settings.schema, [...TENANT_TABLES]],
  );
  return rows.map(row => ({
    ...row,
    sql: `${escapeIdentifier(settings.schema)}.${row.name}`,
  }));
}

async function readBegunPhase(
  { executor, settings }: StepContext,
  tables: TableFacts[],
): Promise<number> {
  const [bookkeeping] = await executor.read<{ readable: boolean }>(
    `select has_schema_privilege(n.oid, 'usage')
              and has_table_privilege(c.oid, 'select') as readable
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = $1 and c.relname = 'tenancy_migrations'`,
    [settings.schema],
  );
  if (bookkeeping && !bookkeeping.readable) {
    return inferBegunPhase({ executor }, tables);
  }
  const steps = await readCompletedSteps(executor);
  return Math.max(0, ...steps.map(step => Number(step.split('_')[0])));
}

/** Infers the phase from the tables, for a login that may not read the journal. */
async function inferBegunPhase(
  { executor }: Pick<StepContext, 'executor'>,
  tables: TableFacts[],
): Promise<number> {
  const [{ phase }] = await executor.read<{ phase: number }>(
    `select coalesce(max(case when c.relkind = 'p' then 5
                              when c.relrowsecurity then 4
                              when a.attnotnull then 2 else 1 end), 1) as phase
       from pg_class c
       join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id'
      where c.oid = any ($1)`,
    [tables.map(({ oid }) => oid)],
  );
  return phase;
}
