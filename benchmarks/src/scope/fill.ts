import type { Client } from 'pg';
import { SCHEMA } from '../catalog/constants';
import { type Database, withClient } from '../migration/database';
import { catchAllPartition } from '../migration/engine';
import { MARK, markOf, tenantIdOf, UID } from './entities';
import type { Databases } from './layouts';
import { createPartitions, givePartitions, partitionOf } from './partitions';
import type { Size } from './sizes';

const SETTINGS = `
  set gin_pending_list_limit = '1GB';
  set maintenance_work_mem = '512MB';
  set synchronous_commit = off`;

// The ids differ from tenant to tenant, as they do where catalogs are apart.
const ENTITIES = `
  select md5($1 || ' ' || number)::uuid as entity_id,
         kind || ':default/' || replace(name, '${MARK}', $1) as entity_ref,
         kind as entity_kind, replace(name, '${MARK}', $1) as entity_name,
         replace(replace(json, '${MARK}', $1),
                 '${UID}', md5($1 || ' ' || number)::uuid::text)::jsonb as final_entity,
         md5(number::text) as hash,
         timestamptz '2025-01-01' + (number * 10000 + $2::int) * interval '1 second' as created_at
    from source.patterns order by number`;

const COLUMNS =
  'entity_id, entity_ref, entity_kind, entity_name, final_entity, hash, created_at';

/** The tenant whose terms the database itself makes, and its partitions the operator. */
const FIRST = 1;

/** Adds the tenants of some numbers, with their entities, to all databases. */
export async function addTenants(
  { single, shared, partitions }: Databases,
  tenants: number[],
  { tenantsWithTerms }: Size,
): Promise<void> {
  const insertOther = async (
    client: Client,
    partition: string,
    { tenant, id }: { tenant: number; id: string },
  ) => {
    // It names the partition, so that no trigger of the table fires.
    await insertEntities(client, partition, tenant, id);
    if (tenant <= tenantsWithTerms) {
      await insertTerms(client, tenant, id);
    }
  };
  await Promise.all([
    withClient(single, client =>
      forEachTenant(client, tenants, tenant => addToSingle(client, tenant)),
    ),
    withClient(shared, async client => {
      const partition = catchAllPartition('entities');
      await withPendingLists(client, partition, () =>
        forEachTenant(client, tenants, async tenant => {
          const id = await createTenant(client, tenant);
          await (tenant === FIRST
            ? insertFirst(client, id)
            : insertOther(client, partition, { tenant, id }));
        }),
      );
    }),
    withClient(partitions, client =>
      forEachTenant(client, tenants, async tenant => {
        const id = await createTenant(client, tenant);
        const slug = markOf(tenant);
        if (tenant === FIRST) {
          await insertFirst(client, id);
          await givePartitions(partitions, slug);
        } else {
          await createPartitions(client, { id, slug, like: markOf(FIRST) });
          const partition = partitionOf('entities', slug);
          await withPendingLists(client, partition, () =>
            insertOther(client, partition, { tenant, id }),
          );
        }
      }),
    ),
  ]);
}

async function forEachTenant(
  client: Client,
  tenants: number[],
  add: (tenant: number) => Promise<void>,
): Promise<void> {
  await client.query(SETTINGS);
  for (const tenant of tenants) {
    await add(tenant);
  }
}

/**
 * Puts what is inserted meanwhile into the indexes on JSON and for trigrams of a
 * partition all at once: row by row, that takes most of the time. They are left as they
 * were, with nothing in the lists of what waits.
 */
async function withPendingLists(
  client: Client,
  partition: string,
  insert: () => Promise<void>,
): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `select indexrelid::regclass::text as name
       from pg_index join pg_class c on c.oid = indexrelid join pg_am a on a.oid = relam
      where indrelid = $1::regclass and amname = 'gin'
        and reloptions @> array['fastupdate=off']`,
    [`${SCHEMA}.${partition}`],
  );
  for (const { name } of rows) {
    await client.query(`alter index ${name} set (fastupdate = on)`);
  }
  await insert();
  for (const { name } of rows) {
    await client.query(`alter index ${name} set (fastupdate = off)`);
    await client.query('select gin_clean_pending_list($1::regclass)', [name]);
  }
}

async function addToSingle(client: Client, tenant: number): Promise<void> {
  await client.query(
    `insert into ${SCHEMA}.entities (${COLUMNS}) ${ENTITIES}`,
    [markOf(tenant), tenant],
  );
}

async function createTenant(client: Client, tenant: number): Promise<string> {
  const id = tenantIdOf(tenant);
  await client.query(
    `insert into ${SCHEMA}.tenants (tenant_id, tenant_slug, tenant_name)
     values ($2, $1, $1)`,
    [markOf(tenant), id],
  );
  return id;
}

/** Inserts the entities of the first tenant, and keeps the terms that they get. */
async function insertFirst(client: Client, id: string): Promise<void> {
  await insertEntities(client, 'entities', FIRST, id);
  await client.query(
    `create table source.terms as
     select number, key,
            replace(replace(value, $1, '${MARK}'), entity_id::text, '${UID}') as value,
            replace(replace(original_value, $1, '${MARK}'), entity_id::text, '${UID}')
              as original_value
       from ${SCHEMA}.entity_search
       join source.patterns on entity_id = md5($1 || ' ' || number)::uuid
      where tenant_id = $2`,
    [markOf(FIRST), id],
  );
}

/** Inserts the terms of another tenant as they are: to make them takes long. */
async function insertTerms(
  client: Client,
  tenant: number,
  id: string,
): Promise<void> {
  await client.query(
    `insert into ${SCHEMA}.entity_search (tenant_id, entity_id, key, value, original_value)
     select $2, id, key,
            replace(replace(value, '${MARK}', $1), '${UID}', id::text),
            replace(replace(original_value, '${MARK}', $1), '${UID}', id::text)
       from source.terms, lateral (select md5($1 || ' ' || number)::uuid) ids (id)
      order by number`,
    [markOf(tenant), id],
  );
}

async function insertEntities(
  client: Client,
  table: string,
  tenant: number,
  id: string,
): Promise<void> {
  await client.query(
    `insert into ${SCHEMA}.${table} (tenant_id, ${COLUMNS})
     select $3::uuid, e.* from (${ENTITIES}) e`,
    [markOf(tenant), tenant, id],
  );
}

/** @throws Error if the terms of some tenant are not those that the database makes */
export async function assertTerms(
  database: Database,
  tenant: number,
): Promise<void> {
  await withClient(database, async client => {
    const { rows } = await client.query(
      `with entity as (
         select tenant_id, entity_id, final_entity
           from ${SCHEMA}.entities join ${SCHEMA}.tenants using (tenant_id)
          where tenant_slug = $1
       ), expected as (
         select entity_id, t.* from entity, ${SCHEMA}.entity_search_terms(final_entity, entity_id) t
       ), found as (
         select entity_id, key, value, original_value
           from ${SCHEMA}.entity_search join entity using (tenant_id, entity_id)
       )
       select (select count(*)::int from expected) as expected,
              (select count(*)::int from (table expected intersect table found) same) as same,
              (select count(*)::int from found) as found`,
      [markOf(tenant)],
    );
    const [{ expected, same, found }] = rows;
    if (expected === 0 || same !== expected || found !== expected) {
      throw new Error(
        `${database.name}: of ${expected} terms of ${markOf(tenant)}, ` +
          `${same} are as they have to be, of ${found}`,
      );
    }
  });
}
