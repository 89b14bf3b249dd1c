import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { StockCatalog } from './stockCatalog';

const EARLIER = readFileSync(join(__dirname, 'earlierAdoption.sql'), 'utf8');

/** Puts an earlier version of the tables and functions in the place of those of an adoption. */
export async function makeEarlier({ client }: StockCatalog): Promise<void> {
  await client.query(`begin;
create temporary table former_state on commit drop as
  select key, value from adoption_state where key <> 'prepared';
do $do$
declare
  v_function regprocedure;
begin
  for v_function in
    select oid from pg_proc
     where pronamespace = 'tenancy'::regnamespace and proname ~ '^adoption_'
       and prorettype <> 'trigger'::regtype
  loop
    execute format('drop function %s', v_function);
  end loop;
end $do$;
drop table adoption_faults, adoption_state;
${EARLIER}
insert into adoption_state select key, value from former_state;
do $do$
declare
  v_object text;
begin
  for v_object in
    select 'function ' || oid::regprocedure from pg_proc
     where pronamespace = 'tenancy'::regnamespace and proname ~ '^adoption_'
     union all
    values ('table adoption_faults'), ('table adoption_state')
  loop
    execute format('alter %s owner to %I', v_object,
      (select tableowner from pg_tables
        where schemaname = 'tenancy' and tablename = 'entities'
        union all
       select pg_get_userbyid(relowner) from pg_class
        where oid = 'tenancy.entities'::regclass and relkind = 'p' limit 1));
  end loop;
  if to_regclass('tenancy.tenancy_migrations') is not null then
    delete from tenancy.tenancy_migrations where name = '5_98_engine_adoption';
  end if;
end $do$;
commit`);
}
