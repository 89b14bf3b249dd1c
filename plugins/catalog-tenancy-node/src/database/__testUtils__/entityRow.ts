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
