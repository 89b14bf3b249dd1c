import type { MigrationSession } from '../../../session/MigrationSession';
import { isDistributed } from '../../../schema/citus';
import { TERMS } from './terms';

/** An entity whose terms differ from its final_entity. */
export interface Difference {
  tenant: string;
  entity: string;
}

// Entities whose terms one statement compares, and candidates that one statement reads.
const AT_ONCE = 500;
const ASKED_AT_ONCE = 5000;

/** An id before all others. */
const FIRST = '00000000-0000-0000-0000-000000000000';
const LAST = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

// The tenants that have terms, by one index look-up for each (a loose index scan).
const TENANTS = `
  with recursive searched (tenant_id) as (
    (select tenant_id from entity_terms order by tenant_id limit 1)
     union all
    select (select s.tenant_id from entity_terms s
             where s.tenant_id > searched.tenant_id order by s.tenant_id limit 1)
      from searched where searched.tenant_id is not null
  )
  select tenant_id as id from tenants
   union
  select tenant_id from searched where tenant_id is not null
   order by id`;

// On the nodes of Citus, which takes no such query of all tenants, by a scan.
const TENANTS_ON_NODES = `
  select tenant_id as id from tenants
   union
  select distinct tenant_id from entity_terms
   order by id`;

async function readTenants(session: MigrationSession): Promise<string[]> {
  const [{ schema }] = await session.query<{ schema: string }>(
    'select current_schema()::text as schema',
  );
  const distributed = await isDistributed(
    (sql, values) => session.query(sql, values),
    schema,
  );
  const rows = await session.query<{ id: string }>(
    distributed ? TENANTS_ON_NODES : TENANTS,
  );
  return rows.map(({ id }) => id);
}

/**
 * A query for the entities whose terms differ. A statement has one snapshot, and terms
 * change in the transaction of their entity, so it can run while applications write.
 *
 * @param among - the condition on the row `e` of an entity or `s` of a term
 */
function differencesAmong(among: (row: string) => string): string {
  return `select distinct entity_id
    from (
      select e.entity_id, t.key collate "C" as key, t.value, t.original_value, true as said
        from entities e, lateral ${TERMS}(e.final_entity, e.entity_id) t
       where e.deleted_at is null and ${among('e')}
       union all
      select s.entity_id, s.key, s.value, s.original_value, false
        from entity_terms s where ${among('s')}
    ) sides
   group by entity_id, key, value, original_value
  having count(*) <> 2 or bool_and(said) or not bool_or(said)`;
}

const between =
  (tenant: string, from: string, to: string) =>
  (row: string): string =>
    `${row}.tenant_id = ${tenant} and ${row}.entity_id between ${from} and ${to}`;

// Rows whose xmin was open at, or began after, a transaction; live entities without a term;
// and terms without a live entity.
const CHANGED = `
  select e.entity_id as id from entities e
   where ${between('$1', '$2', '$3')('e')} and age(e.xmin) <= age($4::xid8::xid)
  union
  select coalesce(live.entity_id, searched.entity_id)
    from (select e.entity_id from entities e
           where ${between(
             '$1',
             '$2',
             '$3',
           )('e')} and e.deleted_at is null) live
    full join (select distinct s.entity_id from entity_terms s
                where ${between(
                  '$1',
                  '$2',
                  '$3',
                )('s')}) searched using (entity_id)
   where live.entity_id is null or searched.entity_id is null`;

/** Entities of a tenant that one statement compares. */
interface Entities {
  tenant: string;
  ids: string[];
}

/**
 * The entities whose terms may differ: rows written by a transaction that was open then or
 * began later, and those on one side only. All others have their terms, if they had them at
 * that moment.
 *
 * @param since - the oldest transaction that was open at that moment
 */
export async function* findChanged(
  session: MigrationSession,
  since: string,
): AsyncGenerator<Entities> {
  for (const { id: tenant } of await session.query<{ id: string }>(TENANTS)) {
    for await (const range of rangesOf(session, tenant, ASKED_AT_ONCE)) {
      const rows = await session.query<{ id: string }>(CHANGED, [
        tenant,
        ...range,
        since,
      ]);
      const ids = rows.map(({ id }) => id).sort();
      for (let first = 0; first < ids.length; first += AT_ONCE) {
        yield { tenant, ids: ids.slice(first, first + AT_ONCE) };
      }
    }
  }
}

/** Compares the terms of all tenants with their entities, in ranges. */
export async function* findDifferences(
  session: MigrationSession,
): AsyncGenerator<Difference> {
  await prepare(session);
  for (const tenant of await readTenants(session)) {
    for await (const range of rangesOf(session, tenant, AT_ONCE)) {
      const query = differencesAmong(between('$1', '$2', '$3'));
      yield* differencesIn(session, query, [tenant, ...range]);
    }
  }
}

/** The same for those that {@link findChanged} finds. */
export async function* findDifferencesSince(
  session: MigrationSession,
  since: string,
): AsyncGenerator<Difference> {
  await prepare(session);
  for await (const { tenant, ids } of findChanged(session, since)) {
    const query = differencesAmong(
      row => `${row}.tenant_id = $1 and ${row}.entity_id = any ($2)`,
    );
    yield* differencesIn(session, query, [tenant, ids]);
  }
}

// The settings of the trigger functions.
async function prepare(session: MigrationSession): Promise<void> {
  await session.query('set jit = off; set extra_float_digits = 1');
}

async function* differencesIn(
  session: MigrationSession,
  query: string,
  values: [tenant: string, ...unknown[]],
): AsyncGenerator<Difference> {
  const rows = await session.query<{ entity_id: string }>(query, values);
  for (const { entity_id: entity } of rows) {
    yield { tenant: values[0], entity };
  }
}

/** Divides all ids into ranges of a number of entities. */
async function* rangesOf(
  session: MigrationSession,
  tenant: string,
  entities: number,
): AsyncGenerator<[from: string, to: string]> {
  let from = FIRST;
  for (;;) {
    const [next] = await session.query<{ id: string }>(
      `select entity_id as id from entities
        where tenant_id = $1 and entity_id > $2 order by entity_id offset ${entities} limit 1`,
      [tenant, from],
    );
    yield [from, next?.id ?? LAST];
    if (!next) {
      return;
    }
    from = next.id;
  }
}
