import type { TenantScope } from '../TenantDatabase';

/** A row of `entities` without a tenant, of a component with this name. */
export function entityRow(name: string, finalEntity: object = {}) {
  return {
    entity_ref: `component:default/${name}`,
    entity_kind: 'component',
    entity_namespace: 'default',
    entity_name: name,
    final_entity: JSON.stringify(finalEntity),
    hash: 'hash',
  };
}

/** An INSERT of rows of the scope's tenant. */
export function insertRows(
  { knex, tenantId }: Pick<TenantScope, 'knex' | 'tenantId'>,
  rows: readonly object[],
) {
  return knex('entities').insert(
    rows.map(row => ({ ...row, tenant_id: tenantId })),
  );
}
