import type { Executor } from '../engine/Executor';
import { escapeIdentifier } from '../sql';

// LIKE copies how columns are stored and compressed, and a partition has that from
// its table. What is here neither does.

/** The storage parameters of a table, and of its TOAST table, for WITH; or ''. */
export async function storageParameters(
  executor: Executor,
  table: string,
): Promise<string> {
  const [{ parameters }] = await executor.read<{ parameters: string }>(
    `select array_to_string(c.reloptions || array(
              select 'toast.' || o from unnest(t.reloptions) o), ', ') as parameters
       from pg_class c left join pg_class t on t.oid = c.reltoastrelid
      where c.oid = to_regclass(quote_ident($1))`,
    [table],
  );
  return parameters ? ` with (${parameters})` : '';
}

interface ColumnStatistics {
  name: string;
  target: number | null;
  /** `n_distinct=…`, as it was set. */
  options: string | null;
}

/**
 * The statements that let ANALYZE look at the columns of tables as it looks at
 * those of another: as closely, and with the same numbers set by hand.
 */
export async function statisticsStatements(
  executor: Executor,
  from: string,
  to: string[],
): Promise<string[]> {
  const columns = await executor.read<ColumnStatistics>(
    `select attname as name, nullif(attstattarget, -1)::int as target,
            array_to_string(attoptions, ', ') as options
       from pg_attribute
      where attrelid = to_regclass(quote_ident($1)) and attnum > 0 and not attisdropped
        and (coalesce(attstattarget, -1) <> -1 or attoptions is not null)
      order by attnum`,
    [from],
  );
  return columns.flatMap(({ name, target, options }) =>
    to.flatMap(table => {
      const alter = `alter table only ${escapeIdentifier(
        table,
      )} alter column ${escapeIdentifier(name)}`;
      return [
        ...(target === null ? [] : [`${alter} set statistics ${target}`]),
        ...(options === null ? [] : [`${alter} set (${options})`]),
      ];
    }),
  );
}
