import type { StepContext } from '../../engine/Step';
import { RefusedError } from '../../errors';
import { ENTITY_KEY, TENANT_TABLES } from '../../schema/tables';
import { readViews } from '../../schema/views';

// What a table has by itself goes where it goes, views are replaced by the swap, and the foreign keys of relations and
// refresh_state on their entity are rebuilt.
const DEPENDENTS = `
  with ours as (
    select c.oid, c.relname as name, t.oid as type, t.typarray as array_type
      from unnest($1::text[]) name join pg_class c on c.oid = to_regclass(name)
      join pg_type t on t.oid = c.reltype
  ), rebuilt as (
    select k.oid from pg_constraint k join ours o on o.oid = k.conrelid
     where k.confrelid = to_regclass('entities') and o.name <> 'entities'
       and k.conkey <@ array(select attnum from pg_attribute
                              where attrelid = k.conrelid
                                and attname in ('tenant_id', $2::json ->> o.name))
  )
  select distinct pg_describe_object(classid, objid, objsubid) as name
    from pg_depend
   where deptype = 'n'
     and (refclassid = 'pg_class'::regclass and refobjid in (select oid from ours)
       or refclassid = 'pg_type'::regclass
            and refobjid in (select unnest(array[type, array_type]) from ours))
     and not (classid = 'pg_rewrite'::regclass and exists (
       select from pg_rewrite r join pg_class v on v.oid = r.ev_class
        where r.oid = objid and v.relkind = 'v'))
     and not (classid = 'pg_constraint'::regclass and exists (
       select from pg_constraint k
        where k.oid = objid and (k.contype <> 'f' or k.conparentid <> 0
                                 or k.oid in (select oid from rebuilt))))
     and not (classid = 'pg_policy'::regclass and exists (
       select from pg_policy p where p.oid = objid and p.polrelid in (select oid from ours)))
     and classid not in ('pg_trigger'::regclass, 'pg_attrdef'::regclass)
   union
  select pg_describe_object('pg_rewrite'::regclass, r.oid, 0)
    from pg_rewrite r join ours o on o.oid = r.ev_class
   order by 1`;

/**
 * Refuses a swap after which something would go on reading, or referencing, the
 * tables that were in use before: what PostgreSQL knows by more than a name.
 */
export async function refuseDependents({
  executor,
  settings,
  reporter,
}: StepContext): Promise<void> {
  const found = await executor.read<{ name: string }>(DEPENDENTS, [
    [...TENANT_TABLES],
    JSON.stringify(ENTITY_KEY),
  ]);
  if (found.length === 0) {
    return;
  }
  const finding =
    'These stay with the tables that go out of use, whatever those are called: ' +
    `${found.map(({ name }) => name).join('; ')}.`;
  if (settings.force) {
    reporter.warn(finding);
    return;
  }
  throw new RefusedError(
    `${finding} Drop them, and create them again after the swap. Or give --force, ` +
      'if nobody needs them.',
  );
}

/**
 * Refuses a swap to which a view would not survive that groups by a primary key
 * alone: PostgreSQL takes the other columns of a table for granted then, and the
 * partitioned table has the tenant in its key.
 */
export async function refuseGroupings({
  executor,
  settings,
}: StepContext): Promise<void> {
  const views = (await readViews(executor, TENANT_TABLES)).filter(
    ({ groupedByKeyOf, materialized }) => groupedByKeyOf && !materialized,
  );
  if (views.length > 0 && !settings.force) {
    const list = views.map(
      ({ name, groupedByKeyOf }) => `${name} (${groupedByKeyOf})`,
    );
    throw new RefusedError(
      `These views group by the primary key of a table: ${list.join(
        ', ',
      )}. The new ` +
        'key has tenant_id in front. Name in GROUP BY each column that they show ' +
        'outside of an aggregate ("create or replace view"), which shows the same. Or ' +
        'give --force, if they group by tenant_id as well.',
    );
  }
}
