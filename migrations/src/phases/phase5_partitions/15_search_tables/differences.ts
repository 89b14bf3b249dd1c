import type { MigrationSession } from '../../../session/MigrationSession';
import { TERMS } from './functions';

/** An entity whose terms differ from its final_entity. */
export interface Difference {
  tenant: string;
  entity: string;
}

// Entities whose terms one statement compares.
const AT_ONCE = 500;

/** An id before all others. */
const FIRST = '00000000-0000-0000-0000-000000000000';
const LAST = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

const TENANTS = `
  select tenant_id as id from tenants
   union
  select distinct tenant_id from entity_terms
   order by id`;

// A statement has one snapshot, and terms change in the transaction of their entity, so it can
// run while applications write.
const DIFFERENCES = `
  select distinct entity_id as entity
    from (
      select e.entity_id, t.key collate "C" as key, t.value, t.original_value, true as said
        from entities e, lateral ${TERMS}(e.final_entity, e.entity_id) t
       where e.deleted_at is null and e.tenant_id = $1 and e.entity_id between $2 and $3
       union all
      select s.entity_id, s.key, s.value, s.original_value, false
        from entity_terms s where s.tenant_id = $1 and s.entity_id between $2 and $3
    ) sides
   group by entity_id, key, value, original_value
  having count(*) <> 2 or bool_and(said) or not bool_or(said)`;

/** Compares the terms of all tenants with their entities, in ranges. */
export async function* findDifferences(
  session: MigrationSession,
): AsyncGenerator<Difference> {
  // The settings of the trigger functions.
  await session.query('set jit = off; set extra_float_digits = 1');
  for (const { id: tenant } of await session.query<{ id: string }>(TENANTS)) {
    for await (const range of rangesOf(session, tenant)) {
      const differing = await session.query<{ entity: string }>(DIFFERENCES, [
        tenant,
        ...range,
      ]);
      yield* differing.map(({ entity }) => ({ tenant, entity }));
    }
  }
}

/** Divides all ids into ranges of {@link AT_ONCE} entities. */
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
