import type { Knex } from 'knex';
import { createStockTables } from '../../catalog/stockCatalog';
import { adoptCatalog } from '../../catalog/tenantTables';
import { withKnex } from '../../harness/database';
import { type Database, runStatements } from '../../migration/database';
import { SCHEMA, TENANT_MARK } from '../constants';
import type { Size } from '../sizes';

/** Creates a catalog of tenants, each with the same entities, marked as its own. */
export async function createTenants(
  database: Database,
  size: Size,
): Promise<void> {
  const { postgres, name } = database;
  await runStatements({ postgres, name: 'postgres' }, [
    `create database ${name}`,
  ]);
  await withKnex(postgres, name, createStockTables);
  await adoptCatalog(database);
  await withKnex(postgres, name, knex => insertTenants(knex, size));
}

async function insertTenants(
  knex: Knex,
  { tenants, entities }: Size,
): Promise<void> {
  await knex.raw(
    `insert into ${SCHEMA}.tenants (tenant_slug, tenant_name)
     select 'tenant-' || number, 'Tenant ' || number
       from generate_series(0, ?::int - 1) number`,
    [tenants],
  );
  await knex.raw(
    `insert into ${SCHEMA}.entities
       (tenant_id, entity_id, entity_ref, entity_kind, entity_namespace, entity_name,
        final_entity, hash)
     select tenant_id, entity_id, 'component:default/' || name, 'component', 'default',
            name,
            jsonb_build_object(
              'apiVersion', 'backstage.io/v1alpha1',
              'kind', 'Component',
              'metadata', jsonb_build_object(
                'name', name,
                'namespace', 'default',
                'uid', entity_id,
                'annotations', jsonb_build_object(?::text, tenant_slug)),
              'spec', jsonb_build_object('type', 'service', 'owner', 'team-a')),
            md5(name)
       from (select tenant_id, tenant_slug, gen_random_uuid() as entity_id,
                    'item-' || number as name
               from ${SCHEMA}.tenants, generate_series(0, ?::int - 1) number
              where tenant_slug like 'tenant-%') entity`,
    [TENANT_MARK, entities],
  );
}
