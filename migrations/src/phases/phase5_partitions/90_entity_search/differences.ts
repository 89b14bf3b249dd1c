import type { MigrationSession } from '../../../session/MigrationSession';
import { TERMS } from './terms';

/** An entity whose terms are not those that it says. */
export interface Difference {
  tenant: string;
  entity: string;
}

// Entities that are compared at once.
const AT_ONCE = 500;

/** Before all others. */
const FIRST = '00000000-0000-0000-0000-000000000000';
const LAST = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

// Those that have terms, and none other: it jumps from one to the next.
const TENANTS = `
  with recursive searched (tenant_id) as (
    (select tenant_id from entity_search order by tenant_id limit 1)
     union all
    select (select s.tenant_id from entity_search s
             where s.tenant_id > searched.tenant_id order by s.tenant_id limit 1)
      from searched where searched.tenant_id is not null
  )
  select tenant_id as id from tenants
   union
  select tenant_id from searched where tenant_id is not null
   order by id`;

/**
 * The entities whose terms differ, as a query of one tenant and a range of
 * entities. One statement is one snapshot, and terms change with their entity: it
 * can run while others write.
 */
function differencesOf(tenant: string, from: string, to: string): string {
  const range = (row: string) =>
    `${row}.tenant_id = ${tenant} and ${row}.entity_id between ${from} and ${to}`;
  return `select distinct entity_id
    from (
      select e.entity_id, t.key, t.value, t.original_value, true as said
        from entities e, lateral ${TERMS}(e.final_entity, e.entity_id) t
       where e.deleted_at is null and ${range('e')}
       union all
      select s.entity_id, s.key, s.value, s.original_value, false
        from entity_search s where ${range('s')}
    ) sides
   group by entity_id, key, value, original_value
  having count(*) <> 2 or bool_and(said) or not bool_or(said)`;
}

/** Compares the terms of all tenants with what their entities say, in ranges. */
export async function* findDifferences(
  session: MigrationSession,
): AsyncGenerator<Difference> {
  // As the functions of the triggers do it.
  await session.query('set jit = off; set extra_float_digits = 1');
  for (const { id } of await session.query<{ id: string }>(TENANTS)) {
    for await (const [from, to] of rangesOf(session, id)) {
      const rows = await session.query<{ entity_id: string }>(
        differencesOf('$1', '$2', '$3'),
        [id, from, to],
      );
      for (const { entity_id: entity } of rows) {
        yield { tenant: id, entity };
      }
    }
  }
}

/** Ranges that have some entities each, and leave nothing out. */
async function* rangesOf(
  session: MigrationSession,
  tenant: string,
): AsyncGenerator<[from: string, to: string]> {
  let from = FIRST;
  for (;;) {
    const [next] = await session.query<{ id: string }>(
      `select entity_id as id from entities
        where tenant_id = $1 and entity_id > $2 order by entity_id offset ${AT_ONCE} limit 1`,
      [tenant, from],
    );
    yield [from, next?.id ?? LAST];
    if (!next) {
      return;
    }
    from = next.id;
  }
}

/** {@link findDifferences} for a script: a statement that does something for each. */
export function forEachDifference(statement: string): string {
  return `do $$
declare
  tenant uuid;
  entity uuid;
begin
  for tenant in ${TENANTS} loop
    for entity in ${differencesOf('tenant', `'${FIRST}'`, `'${LAST}'`)} loop
      ${statement};
    end loop;
  end loop;
end $$`;
}
