import type {
  TestDatabaseId,
  TestDatabases,
} from '@internal/postgres/testUtils';
import type { Entity } from '@backstage/catalog-model';
import {
  createTenancyDatabase,
  type TenancyDatabase,
} from '../../__testUtils__/tenancyDatabase';
import { PooledTenantDatabase } from '../../database/PooledTenantDatabase';
import type { TenantTransaction } from '../../database/TenantDatabase';
import { PostgresCatalogStore } from '../PostgresCatalogStore';

/** A migrated database with the store on it, as the application's own user. */
export interface CatalogDatabase extends TenancyDatabase {
  database: PooledTenantDatabase;
  store: PostgresCatalogStore;
  /** Inserts rows as others write them: nothing of them is checked. */
  adopt(tenantId: string, rows: AdoptedRow[]): Promise<void>;
}

export interface AdoptedRow {
  kind?: string;
  namespace?: string;
  name: string;
  /** JSON text. */
  finalEntity: string;
  entityId?: string;
  createdAt?: string;
}

export async function createCatalogDatabase(
  databases: TestDatabases,
  id: TestDatabaseId,
): Promise<CatalogDatabase> {
  const tenancy = await createTenancyDatabase(databases, id);
  const database = new PooledTenantDatabase(tenancy.pool);
  return {
    ...tenancy,
    database,
    store: new PostgresCatalogStore({ database }),
    async adopt(tenantId, rows) {
      for (const row of rows) {
        const { kind = 'component', namespace = 'default', name } = row;
        await tenancy.client.query(
          `insert into entities (tenant_id, entity_id, entity_ref, entity_kind, entity_namespace,
                                 entity_name, final_entity, hash, created_at)
           values ($1, coalesce($2::uuid, gen_random_uuid()), $3, $4, $5, $6, $7, 'theirs',
                   coalesce($8::timestamptz, now()))`,
          [
            tenantId,
            row.entityId,
            `${kind}:${namespace}/${name}`,
            kind,
            namespace,
            name,
            row.finalEntity,
            row.createdAt,
          ],
        );
      }
    },
  };
}

/** A component, with whatever is given beside its name. */
export function component(
  name: string,
  more: Omit<Partial<Entity>, 'metadata'> & {
    metadata?: Record<string, unknown>;
  } = {},
): Entity {
  return {
    apiVersion: 'backstage.io/v1alpha1',
    kind: 'Component',
    ...more,
    metadata: { name, ...more.metadata } as Entity['metadata'],
  };
}

/** The partitions that a transaction has locked, of whichever tenant. */
export async function partitionsLocked({
  knex,
  query,
}: Pick<TenantTransaction, 'knex' | 'query'>): Promise<string[]> {
  const rows = await query<{ name: string }>(
    knex.raw(
      `select c.relname as name from pg_locks l join pg_class c on c.oid = l.relation
        where l.pid = pg_backend_pid() and c.relkind = 'r' and c.relispartition
        group by 1 order by 1`,
    ),
  );
  return rows.map(({ name }) => name);
}
