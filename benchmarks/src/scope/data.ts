import type { Entity } from '@backstage/catalog-model';
import type { Postgres } from '@internal/postgres';
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Client } from 'pg';
import { createTenantDatabase } from '../harness/catalogs';
import { type Database, runStatements, withClient } from '../harness/database';
import {
  catchAllPartition,
  createCatalogTables,
  givePartition,
  TENANT_TABLES,
} from '../harness/engine';
import { operate } from '../harness/migrations';
import { SCHEMA } from '../harness/servers';

/** How much there is, and where it is measured how. */
export interface Size {
  /** How many tenants there are, one step after the other. */
  tenants: number[];
  entitiesPerTenant: number;
  /** How many of the tenants have the terms of their entities, which nobody reads here. */
  tenantsWithTerms: number;
  /** How many entities `listEntities` is asked for. */
  limit: number;
  /** The step that is measured from further away and with more connections, too. */
  judged: number;
  /** The step whose duration growth is judged by, at the last one. */
  growsFrom: number;
  /** Beside one. */
  connections: number[];
  /** How long one measurement takes. */
  secondsOf(seconds: number): number;
}

export const FULL: Size = {
  tenants: [1, 10, 100, 500, 1_000],
  entitiesPerTenant: 1_000,
  tenantsWithTerms: 10,
  limit: 100,
  judged: 500,
  growsFrom: 10,
  connections: [10, 50],
  secondsOf: seconds => seconds,
};

export const SHORT: Size = {
  tenants: [2, 5],
  entitiesPerTenant: 20,
  tenantsWithTerms: 2,
  limit: 5,
  judged: 5,
  growsFrom: 2,
  connections: [2],
  // There is a lot to measure: what is to show that it works is to be over soon.
  secondsOf: seconds => seconds / 10,
};

/** What is measured. */
export type Operation = 'getEntity' | 'listEntities';

export const OPERATIONS: Operation[] = ['getEntity', 'listEntities'];

/** Where the rows of tenants are. */
export type Layout = 'partitions' | 'shared';

export const LAYOUTS: Layout[] = ['partitions', 'shared'];

/** How a layout is called in the report. */
export const LAYOUT_NAMES: Record<Layout, string> = {
  partitions: 'partitions of their own',
  shared: 'the default partition',
};

/** How a number of tenants is told. */
export function countOf(tenants: number): string {
  return `${tenants.toLocaleString('en')} tenant${tenants === 1 ? '' : 's'}`;
}

/** The databases of a benchmark, all of them with the same entities. */
export interface Databases extends Record<Layout, Database> {
  /** Without tenants: what a catalog is before it has them. */
  single: Database;
}

/** Stands in a generated entity for what is different in each tenant. */
const UID = '00000000-0000-0000-0000-00000000feed';

/** Stands for the mark of the tenant, which the name of each of its entities ends in. */
export const MARK = 'any-tenant';

/** Of which `listEntities` is asked for. */
export const KIND = 'component';

const WORDS = (
  'account basket billing branch channel checkout contract courier customer delivery ' +
  'discount export gateway identity import inventory invoice ledger loyalty market ' +
  'message notice offer order partner payment portal price product quote refund report'
).split(' ');

/** Of 20 entities, as catalogs have them. */
const KINDS = [
  ...Array<string>(12).fill('Component'),
  ...Array<string>(4).fill('API'),
  ...Array<string>(2).fill('Resource'),
  'System',
  'Group',
];

/** What every tenant has an entity of, with {@link UID} and {@link MARK} in it. */
interface Pattern {
  number: number;
  kind: string;
  name: string;
  entity: Entity;
}

/** The entity of a number: about 1 kB of JSON, with a dozen terms. */
function createPattern(number: number): Pattern {
  const kind = KINDS[number % KINDS.length];
  const name = `${word(number, 1)}-${word(number, 2)}-${number}-${MARK}`;
  const entity: Entity = {
    apiVersion: 'backstage.io/v1alpha1',
    kind,
    metadata: {
      namespace: 'default',
      name,
      title: `${word(number, 1)} ${word(number, 2)} ${number}`,
      description: Array.from({ length: 60 + (number % 40) }, (_, index) =>
        word(number + index * index, 5),
      ).join(' '),
      annotations: {
        'backstage.io/managed-by-location': `url:https://git.example.com/${name}/blob/main/catalog-info.yaml`,
      },
      tags: [word(number, 7)],
      uid: UID,
      etag: createHash('sha1').update(`${number}`).digest('hex'),
    },
    spec: {
      type: ['service', 'website', 'library'][number % 3],
      lifecycle: number % 3 === 0 ? 'experimental' : 'production',
      owner: `team-${(number * 31) % 193}`,
    },
  };
  return { number, kind: kind.toLowerCase(), name, entity };
}

/** The mark of the tenant of a number, from 1 on, which is its slug as well. */
export function markOf(tenant: number): string {
  return `tenant-${tenant}`;
}

/** The id of the tenant of a number. */
export function tenantIdOf(tenant: number): string {
  const hex = createHash('md5').update(markOf(tenant)).digest('hex');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** What an entity is called in the tenant of a number. */
function nameIn(tenant: number, { name }: Pattern): string {
  return name.replace(MARK, markOf(tenant));
}

/** Some word, which depends on a number; `salt` tells several of an entity apart. */
function word(number: number, salt: number): string {
  return WORDS[(number * 7919 + salt * 104729) % WORDS.length];
}

/** Creates all of them, with no tenant and no entity yet. */
export async function createDatabases(
  postgres: Postgres,
  size: Size,
): Promise<Databases> {
  const databases: Databases = {
    partitions: await createTenantDatabase({
      postgres,
      name: 'scope_partitions',
    }),
    shared: await createTenantDatabase({
      postgres,
      name: 'scope_shared',
    }),
    single: await createSingleDatabase(postgres, 'scope_single'),
  };
  for (const database of Object.values(databases)) {
    await createPatterns(database, size);
  }
  return databases;
}

/** A catalog as it is before phase 1, with the index that its list needs. */
async function createSingleDatabase(
  postgres: Postgres,
  name: string,
): Promise<Database> {
  const database = { postgres, name };
  await runStatements({ postgres, name: 'postgres' }, [
    `create database ${name}`,
  ]);
  await operate(database, migration => createCatalogTables(migration.context));
  await runStatements(database, [
    `create index on ${SCHEMA}.entities (entity_kind, created_at desc)
      where deleted_at is null`,
  ]);
  return database;
}

/** What the entities of each tenant are made of. */
async function createPatterns(
  database: Database,
  { entitiesPerTenant }: Size,
): Promise<void> {
  const patterns = Array.from({ length: entitiesPerTenant }, (_, number) =>
    createPattern(number),
  );
  await withClient(database, async client => {
    await client.query('create schema source');
    await client.query(
      `create table source.patterns as
       select (row ->> 'number')::int as number, row ->> 'kind' as kind,
              row ->> 'name' as name, (row -> 'entity')::text as json
         from jsonb_array_elements($1::jsonb) row`,
      [JSON.stringify(patterns)],
    );
    await client.query('alter table source.patterns add primary key (number)');
  });
}

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
       from ${SCHEMA}.entity_terms
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
    `insert into ${SCHEMA}.entity_terms (tenant_id, entity_id, key, value, original_value)
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
         select entity_id, t.* from entity, ${SCHEMA}.entity_terms_of(final_entity, entity_id) t
       ), found as (
         select entity_id, key, value, original_value
           from ${SCHEMA}.entity_terms join entity using (tenant_id, entity_id)
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

// Nobody uses the tables meanwhile.
const LONGEST_MOVE_MS = 600_000;

type TenantTable = (typeof TENANT_TABLES)[number];

/** Gives a tenant partitions as an operator does, with the rows that it has. */
export async function givePartitions(
  database: Database,
  slug: string,
): Promise<void> {
  await operate(database, ({ context }) =>
    givePartition(context, slug, { maxBlockMs: LONGEST_MOVE_MS }),
  );
}

/** The name of a tenant's partition. */
function partitionOf(table: TenantTable, slug: string): string {
  return `${table}_tenant_${slug.replaceAll('-', '_')}`;
}

/**
 * Gives a tenant that has no rows a partition of each table. The operator's command
 * takes long for each, for it looks after those who work meanwhile.
 *
 * @throws Error if they differ from those that the command has made for another tenant
 */
async function createPartitions(
  client: Client,
  { id, slug, like }: { id: string; slug: string; like: string },
): Promise<void> {
  for (const table of TENANT_TABLES) {
    const name = partitionOf(table, slug);
    const model = await describePartition(client, partitionOf(table, like));
    await client.query(
      `create table ${SCHEMA}.${name}
         partition of ${SCHEMA}.${table} for values in ('${id}');
       alter table ${SCHEMA}.${name} owner to portal_admin;
       alter table ${SCHEMA}.${name}
         enable row level security, force row level security,
         replica identity ${model.identity === 'f' ? 'full' : 'default'}`,
    );
    const created = await describePartition(client, name);
    if (!isDeepStrictEqual(created, model)) {
      throw new Error(
        `${name} is not as the command makes a partition: ` +
          `${JSON.stringify(created)}, ${JSON.stringify(model)}`,
      );
    }
  }
}

/** All about a partition but its names. */
async function describePartition(
  client: Client,
  name: string,
): Promise<{ identity: string }> {
  const { rows } = await client.query(
    `select relowner::regrole::text as owner, relacl::text as grants, reloptions as options,
            relrowsecurity as policies, relforcerowsecurity as forced, relreplident as identity,
            array(select regexp_replace(pg_get_indexdef(indexrelid), '^.* USING ', '')
                    || (case when indisunique then ' unique' else '' end)
                    || (case when indisprimary then ' primary' else '' end)
                    from pg_index where indrelid = c.oid order by 1) as indexes,
            array(select contype::text || ' ' || pg_get_constraintdef(oid)
                    from pg_constraint where conrelid = c.oid order by 1) as constraints
       from pg_class c where oid = to_regclass($1)`,
    [`${SCHEMA}.${name}`],
  );
  return rows[0];
}

/** One entity of one tenant. */
export interface Question {
  tenantId: string;
  /** What the names of all entities of the tenant end in. */
  mark: string;
  entityRef: string;
  name: string;
}

const COUNT = 5_000;

// Prime, and so without a common divisor with the number of tenants or entities.
const STRIDE = 7_919;

/**
 * Questions about each of the first tenants, one after the other, and any of their
 * entities.
 */
export function createQuestions(
  tenants: number,
  { entitiesPerTenant }: Size,
): Question[] {
  const patterns = Array.from({ length: entitiesPerTenant }, (_, number) =>
    createPattern(number),
  );
  return Array.from({ length: COUNT }, (_, index) => {
    const tenant = 1 + ((index * STRIDE) % tenants);
    const round = Math.floor(index / tenants);
    const pattern = patterns[((index + round) * STRIDE) % entitiesPerTenant];
    const name = nameIn(tenant, pattern);
    return {
      tenantId: tenantIdOf(tenant),
      mark: markOf(tenant),
      entityRef: `${pattern.kind}:default/${name}`,
      name,
    };
  });
}
