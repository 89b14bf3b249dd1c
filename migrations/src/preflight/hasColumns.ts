import type { TableFacts } from './facts';
import type { PreflightContext } from './PreflightCheck';

/**
 * Whether a table has columns of these types. Where it has not, the check of the
 * columns says so, and a look at the rows would only fail.
 */
export async function hasColumns(
  { executor }: PreflightContext,
  table: TableFacts,
  types: Record<string, string>,
): Promise<boolean> {
  const names = Object.keys(types);
  const rows = await executor.read<{ name: string; type: string }>(
    `select attname as name, format_type(atttypid, null) as type from pg_attribute
      where attrelid = $1 and attname = any ($2) and not attisdropped`,
    [table.oid, names],
  );
  return (
    rows.length === names.length &&
    rows.every(({ name, type }) => types[name] === type)
  );
}
