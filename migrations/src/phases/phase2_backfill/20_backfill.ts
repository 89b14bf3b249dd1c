import type { MigrationSettings, Step } from '../../engine/Step';
import { DEFAULT_TENANT_ID, TENANT_TABLES } from '../../schema/tables';
import { Backfill, cursorKey, MAX_PAGES } from './Backfill';
import { checkCounts } from './checkCounts';
import type { TenantTable } from '../../schema/tables';

/**
 * Sets the default tenant in every row without one, and checks the counts.
 *
 * The undo keeps the values; the undo of phase 1 drops the column.
 */
export const backfill: Step = {
  name: '2_20_backfill',
  title: 'Fill tenant_id in the rows that have none',

  async up(context) {
    for (const table of TENANT_TABLES) {
      await context.executor.work({
        title: `Fill tenant_id in the rows of ${table} that have none`,
        script: [backfillScript(table, context.settings)],
        run: async session =>
          (await Backfill.create(context, session, table)).run(),
      });
    }
    await checkCounts(context);
  },

  async down({ executor, state }) {
    for (const table of TENANT_TABLES) {
      await executor.execute(state.forget(cursorKey(table)));
    }
  },
};

/** The backfill of one table as a statement that commits after each batch. */
function backfillScript(
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
      raise warning 'Waiting for locked rows of ${table}';
      perform pg_sleep(0.5);
    elsif filled = 0 then
      exit; -- They refuse to be filled.
    end if;
  end loop;
end $$`;
}
