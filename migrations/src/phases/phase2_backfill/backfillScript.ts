import type { MigrationSettings } from '../../engine/Step';
import { DEFAULT_TENANT_ID } from '../../schema/tables';
import type { TenantTable } from '../../schema/tables';

// Pages of a batch at most: 128 MB.
const MAX_PAGES = 16_384;

/** The backfill of one table as a statement that commits after each batch. */
export function backfillScript(
  table: TenantTable,
  { batchSize, lockTimeoutMs }: MigrationSettings,
): string {
  const begin = `perform set_config('lock_timeout', '${lockTimeoutMs}', true);
    -- Statistics from before would have each sweep read the whole table.
    perform set_config('enable_seqscan', 'off', true);
    if silenced then
      perform set_config('session_replication_role', 'replica', true);
    end if;`;
  const fill = `with changed as (
      update ${table} set tenant_id = '${DEFAULT_TENANT_ID}'
       where ctid = any (addresses) returning tenant_id
    ) select count(tenant_id) from changed into filled;
    commit;`;
  const lock = (range: string) => `select coalesce(array_agg(ctid), '{}')
      from (select ctid from ${table} where tenant_id is null ${range}
             limit ${batchSize} for no key update skip locked) locked
      into addresses;`;
  return `do $$
declare
  silenced boolean := true;
  first_page bigint := 0;
  end_page bigint := pg_relation_size('${table}') / current_setting('block_size')::int;
  pages bigint := 16;
  to_page bigint;
  addresses tid[];
  filled bigint;
begin
  -- Triggers of the table must not take the backfill for changes of its rows.
  begin
    perform set_config('session_replication_role', 'replica', true);
  exception when insufficient_privilege then
    silenced := false;
  end;
  while first_page < end_page loop
    ${begin}
    to_page := least(first_page + pages, end_page);
    ${lock(`and ctid >= format('(%s,0)', first_page)::tid
               and ctid < format('(%s,0)', to_page)::tid`)}
    ${fill}
    pages := ceil(least((to_page - first_page) * ${batchSize}.0
                          / greatest(cardinality(addresses), 1), pages * 2, ${MAX_PAGES}));
    if cardinality(addresses) >= ${batchSize} then
      first_page := least(to_page, (filled = 0)::int
        + (select (max(a)::text::point)[0] from unnest(addresses) a));
    else
      first_page := to_page;
    end if;
  end loop;
  -- Rows that were locked, or have moved meanwhile.
  loop
    ${begin}
    exit when not exists (select from ${table} where tenant_id is null);
    ${lock('')}
    ${fill}
    if cardinality(addresses) = 0 then
      raise warning 'Rows of ${table} are locked, and are waited for';
      perform pg_sleep(0.5);
    elsif filled = 0 then
      exit; -- They refuse to be filled.
    end if;
  end loop;
end $$`;
}
