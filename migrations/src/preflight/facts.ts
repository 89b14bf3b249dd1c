import { readCompletedSteps } from '../engine/journal';
import type { StepContext } from '../engine/Step';
import { hidesRows } from '../schema/policies';
import { TENANT_TABLES } from '../schema/tables';
import { escapeIdentifier } from '../sql';
import type { PreflightFacts, TableFacts } from './PreflightCheck';

/** Reads what several checks look at. */
export async function readFacts(context: StepContext): Promise<PreflightFacts> {
  const { executor, settings } = context;
  // By the name of the schema: the search path ignores a schema that the login may not use,
  // and its tables would seem to be missing.
  const rows = await executor.read<Omit<TableFacts, 'sql'>>(
    `select c.relname as name, c.oid, c.relkind as kind,
            has_schema_privilege(n.oid, 'usage')
              and has_table_privilege(c.oid, 'select')
              and not (${hidesRows('c')}) as readable
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = $1 and c.relname = any ($2)
        and c.relkind in ('r', 'p', 'v', 'm', 'f')
      order by array_position($2, c.relname::text)`,
    [settings.schema, [...TENANT_TABLES]],
  );
  const [{ schemaExists, isPartitioned, journal }] = await executor.read<{
    schemaExists: boolean;
    isPartitioned: boolean;
    /** Whether the login may read it; `null` if there is none. */
    journal: boolean | null;
  }>(
    `select exists (select from pg_namespace where nspname = $1) as "schemaExists",
            exists (select from pg_class where oid = any ($2) and relkind = 'p') as "isPartitioned",
            (select has_schema_privilege(n.oid, 'usage') and has_table_privilege(c.oid, 'select')
               from pg_class c join pg_namespace n on n.oid = c.relnamespace
              where n.nspname = $1 and c.relname = 'tenancy_migrations') as journal`,
    [settings.schema, rows.map(({ oid }) => oid)],
  );
  const steps = journal ? await readCompletedSteps(executor) : [];
  const begunPhase = Math.max(
    // The rights of the login are reported.
    journal === false ? 1 : 0,
    journal === false && isPartitioned ? 5 : 0,
    ...steps.map(step => Number(step.split('_')[0])),
  );
  return {
    schemaExists,
    begunPhase,
    swapped: begunPhase >= 5 && isPartitioned,
    tables: rows.map(row => ({
      ...row,
      sql: `${escapeIdentifier(settings.schema)}.${row.name}`,
    })),
  };
}
