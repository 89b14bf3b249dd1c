import type { Entity } from '@backstage/catalog-model';

/** A component as the catalog shows it, but for its uid and etag. */
export function component(
  name: string,
  overrides: Partial<Entity> = {},
): Entity {
  return {
    apiVersion: 'backstage.io/v1alpha1',
    kind: 'Component',
    spec: { type: 'service', lifecycle: 'production', owner: 'team-a' },
    relations: [{ type: 'ownedBy', targetRef: 'group:default/team-a' }],
    ...overrides,
    metadata: { name, namespace: 'default', ...overrides.metadata },
  };
}
