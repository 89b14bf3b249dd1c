import type { Postgres } from '@internal/postgres';
import { createHash } from 'node:crypto';
import type { Client } from 'pg';
import { SCHEMA } from '../harness/backend';
import { createTenantTables } from '../harness/catalogs';
import { createDatabase, type Database, withClient } from '../harness/database';
import { createEntities } from '../harness/entities';
import { createSingleTenantTables, givePartition } from '../harness/operator';
import {
  COPY_COLUMNS,
  copyStatement,
  createPatterns,
} from '../harness/patterns';

/** How much there is, and where it is measured how. */
export interface Size {
  /** How many tenants there are, one step after the other. */
  tenants: number[];
  entitiesPerTenant: number;
  /** The step that is measured from further away, too. */
  judged: number;
  /** The step by whose duration that of the last one is judged. */
  growsFrom: number;
}

export const FULL: Size = {
  tenants: [1, 10, 100, 500, 1_000],
  entitiesPerTenant: 1_000,
  judged: 500,
  growsFrom: 10,
};

export const SHORT: Size = {
  tenants: [2, 5],
  entitiesPerTenant: 20,
  judged: 5,
  growsFrom: 2,
};

/** Where the rows of tenants are. */
export type Layout = 'partitions' | 'shared';

export const LAYOUTS: Layout[] = ['partitions', 'shared'];

/** How a layout is called in the report. */
export const LAYOUT_NAMES: Record<Layout, string> = {
  partitions: 'partitions of their own',
  shared: 'the default partition',
};

/** How a number of tenants is called in the report. */
export function countOf(tenants: number): string {
  return `${tenants.toLocaleString('en')} tenant${tenants === 1 ? '' : 's'}`;
}

/** The databases of a benchmark, all of them with the same entities. */
export interface Databases extends Record<Layout, Database> {
  /** Without tenants: a catalog as it is before phase 1. */
  single: Database;
}

/** The slug of the tenant of a number, from 1 on. */
function slugOf(tenant: number): string {
  return `tenant-${tenant}`;
}

/** The id of the tenant of a number. */
export function tenantIdOf(tenant: number): string {
  const hex = createHash('md5').update(slugOf(tenant)).digest('hex');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** Creates all of them, with no tenant and no entity yet. */
export async function createDatabases(
  postgres: Postgres,
  size: Size,
): Promise<Databases> {
  const databases: Databases = {
    partitions: await createDatabase(postgres, 'scope_partitions'),
    shared: await createDatabase(postgres, 'scope_shared'),
    single: await createDatabase(postgres, 'scope_single'),
  };
  await createTenantTables(databases.partitions);
  await createTenantTables(databases.shared);
  await createSingleTenantTables(databases.single);
  for (const database of Object.values(databases)) {
    await withClient(database, client =>
      createPatterns(client, size.entitiesPerTenant),
    );
  }
  return databases;
}

const ENTITIES = copyStatement('$1', '$2::int');

/** Adds the tenants of some numbers, with their entities, to all databases. */
export async function addTenants(
  { single, shared, partitions }: Databases,
  tenants: number[],
): Promise<void> {
  await Promise.all([
    forEachTenant(single, tenants, async (client, tenant) => {
      await client.query(
        `insert into ${SCHEMA}.entities (${COPY_COLUMNS}) ${ENTITIES}`,
        [slugOf(tenant), tenant],
      );
    }),
    forEachTenant(shared, tenants, async (client, tenant) => {
      await createTenant(client, tenant);
      await insertEntities(client, tenant);
    }),
    forEachTenant(partitions, tenants, async (client, tenant) => {
      await createTenant(client, tenant);
      await givePartition(partitions, slugOf(tenant));
      await insertEntities(client, tenant);
    }),
  ]);
}

async function forEachTenant(
  database: Database,
  tenants: number[],
  add: (client: Client, tenant: number) => Promise<void>,
): Promise<void> {
  await withClient(database, async client => {
    for (const tenant of tenants) {
      await add(client, tenant);
    }
  });
}

async function createTenant(client: Client, tenant: number): Promise<void> {
  await client.query(
    `insert into ${SCHEMA}.tenants (tenant_id, tenant_slug, tenant_name)
     values ($2, $1, $1)`,
    [slugOf(tenant), tenantIdOf(tenant)],
  );
}

/**
 * Inserts into the partition itself, which fires no trigger of the table: the terms are not read
 * here, and making them takes most of the time.
 */
async function insertEntities(client: Client, tenant: number): Promise<void> {
  const { rows } = await client.query<{ partition: string }>(
    `select coalesce(
       (select inhrelid::regclass::text from pg_inherits
          join pg_class on pg_class.oid = inhrelid
         where inhparent = '${SCHEMA}.entities'::regclass
           and pg_get_expr(relpartbound, inhrelid) like '%' || $1 || '%'),
       (select partdefid::regclass::text from pg_partitioned_table
         where partrelid = '${SCHEMA}.entities'::regclass)) as partition`,
    [tenantIdOf(tenant)],
  );
  await client.query(
    `insert into ${rows[0].partition} (tenant_id, ${COPY_COLUMNS})
     select $3::uuid, e.* from (${ENTITIES}) e`,
    [slugOf(tenant), tenant, tenantIdOf(tenant)],
  );
}

/** One entity of one tenant. */
export interface Question {
  tenantId: string;
  entityRef: string;
  name: string;
}

const COUNT = 5_000;

// Prime, and so without a common divisor with the number of tenants or entities.
const STRIDE = 7_919;

/** Questions about each of the first tenants in turn, and any of their entities. */
export function createQuestions(
  tenants: number,
  { entitiesPerTenant }: Size,
): Question[] {
  const entities = createEntities(0, entitiesPerTenant);
  return Array.from({ length: COUNT }, (_, index) => {
    const tenant = 1 + ((index * STRIDE) % tenants);
    const round = Math.floor(index / tenants);
    const { ref, entity } =
      entities[((index + round) * STRIDE) % entities.length];
    const mark = slugOf(tenant);
    return {
      tenantId: tenantIdOf(tenant),
      entityRef: `${ref}-${mark}`,
      name: `${entity.metadata.name}-${mark}`,
    };
  });
}
