/** The statement after which the record of what was created is as pg_upgrade leaves it. */
export const AFTER_PG_UPGRADE = `
  update tenancy.tenancy_migration_state
     set value = jsonb_build_object(
           'journal', regexp_replace(value ->> 'journal', ' of .*', ' of 13'),
           'known', (select jsonb_agg(regexp_replace(known, '^function .*', 'function 1'))
                       from jsonb_array_elements_text(value -> 'known') known))
   where key = 'objects'`;
