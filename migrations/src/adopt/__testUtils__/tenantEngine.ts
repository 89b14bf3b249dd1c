import { escapeIdentifier } from '../../sql';
import { attachEngine } from '../attach';
import { ENGINE_TABLES, engineSchemaOf } from '../engine';
import { engineOf } from './stockCatalog';
import type { EngineConnection, StockCatalog } from './stockCatalog';

export const ACME = '11111111-1111-4111-8111-111111111111';
export const INITECH = '22222222-2222-4222-8222-222222222222';

/** An engine of a tenant, which a test closes. */
export interface TenantEngine extends EngineConnection {
  tenantId: string;
  schema: string;
  close(): Promise<void>;
}

export async function createTenant(
  { client }: StockCatalog,
  tenantId: string,
  slug: string,
  maxEntities = 50_000,
): Promise<void> {
  await client.query(
    `insert into tenancy.tenants (tenant_id, tenant_slug, tenant_name, max_entities)
     values ($1, $2, $2, $3)`,
    [tenantId, slug, maxEntities],
  );
}

/** The statements that copy the tables of the stock catalog that an engine writes. */
export function cloneStatements(schema: string): string[] {
  const name = escapeIdentifier(schema);
  return [
    `create schema ${name}`,
    ...[...ENGINE_TABLES, 'search'].map(
      table =>
        `create table ${name}.${table} (like public.${table} including all excluding identity)`,
    ),
    `create sequence ${name}.references_id`,
    `alter table ${name}.refresh_state_references
       alter column id set default nextval(${"'"}${name.replaceAll(
      "'",
      "''",
    )}.references_id${"'"}::regclass)`,
    `alter table ${name}.final_entities add foreign key (entity_id)
       references ${name}.refresh_state (entity_id) on delete cascade`,
    `alter table ${name}.relations add foreign key (originating_entity_id)
       references ${name}.refresh_state (entity_id) on delete cascade`,
    ...['source_entity_ref', 'target_entity_ref'].map(
      column => `alter table ${name}.refresh_state_references add foreign key (${column})
       references ${name}.refresh_state (entity_ref) on delete cascade`,
    ),
  ];
}

/** Gives a tenant an engine with empty tables, in one transaction. */
export async function giveEngine(
  catalog: StockCatalog,
  tenantId: string,
  schema = engineSchemaOf(tenantId),
): Promise<TenantEngine> {
  await catalog.client.query(
    [
      'begin',
      ...cloneStatements(schema),
      ...attachEngine({ schema: 'tenancy', tenantId, catalogSchema: schema }),
      'commit',
    ].join(';\n'),
  );
  return connectEngine(catalog, tenantId, schema);
}

export function connectEngine(
  catalog: StockCatalog,
  tenantId: string,
  schema = engineSchemaOf(tenantId),
): TenantEngine {
  const connection = engineOf(catalog.connection, schema);
  return {
    ...connection,
    tenantId,
    schema,
    close: () => connection.knex.destroy(),
  };
}
