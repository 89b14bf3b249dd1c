import type { StepContext } from '../engine/Step';
import { hidesRows } from './policies';
import { TENANT_TABLES } from './tables';
import type { TenantTable } from './tables';

/** One of the three tables, in whatever form it is there. */
export interface TableFacts {
  name: TenantTable;
  oid: number;
  /** `pg_class.relkind`: `r` for an ordinary table. */
  kind: string;
  /** Whether the login may read every row of it. */
  readable: boolean;
}

/**
 * Those of the three tables that exist. By the name of the schema: the search path ignores a
 * schema that the login may not use, and its tables would seem to be missing.
 */
export async function readTableFacts({
  executor,
  settings,
}: Pick<StepContext, 'executor' | 'settings'>): Promise<TableFacts[]> {
  return executor.read<TableFacts>(
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
}

/** The tables that are not there. */
export function missingTables(found: readonly TableFacts[]): TenantTable[] {
  return TENANT_TABLES.filter(
    table => !found.some(({ name }) => name === table),
  );
}
