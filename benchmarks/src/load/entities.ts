import type { Entity } from '@backstage/catalog-model';
import { createEntity } from '../catalog/entities';

// All tenants have entities of the same names, so that what comes from another one
// is not told by its name. What tells it is a mark that each entity carries.

/** The annotation that names the tenant of an entity. */
export const MARK = 'example.com/tenant';

/** The annotation that tells which mutation wrote an entity. */
export const REVISION = 'example.com/revision';

/** The namespace of what is changed by mutations. */
export const CHANGING_NAMESPACE = 'changing';

/** How many entities each mutation changes; it moves one more. */
export const CHANGING = 5;

/** Finds all marks in a text. */
export const MARKS = /mark-of-([a-z0-9-]+)/g;

/** What the entities of a tenant carry. */
export function markOf(slug: string): string {
  return `mark-of-${slug}`;
}

/** An entity that never changes, of a number. */
export function stableEntity(slug: string, number: number): Entity {
  const { entity } = createEntity(number);
  const { uid, etag, ...metadata } = entity.metadata;
  return {
    ...entity,
    metadata: {
      ...metadata,
      annotations: { ...metadata.annotations, [MARK]: markOf(slug) },
    },
  };
}

/** What a mutation changes: all of it carries the number of the mutation. */
export function changingEntities(slug: string, revision: number): Entity[] {
  return [
    ...Array.from({ length: CHANGING }, (_, index) => `changing-${index}`),
    movingName(revision),
  ].map(name => ({
    apiVersion: 'backstage.io/v1alpha1',
    kind: 'Resource',
    metadata: {
      name,
      namespace: CHANGING_NAMESPACE,
      annotations: { [MARK]: markOf(slug), [REVISION]: String(revision) },
    },
    spec: { type: 'queue', owner: 'team-1', lifecycle: 'production' },
    relations: [{ type: 'ownedBy', targetRef: 'group:default/team-1' }],
  }));
}

/** The refs of the entities that are there after each mutation. */
export const CHANGING_REFS: string[] = Array.from(
  { length: CHANGING },
  (_, index) => `resource:${CHANGING_NAMESPACE}/changing-${index}`,
);

/** The entity that a mutation adds, and the next one removes. */
export function movingRef(revision: number): string {
  return `resource:${CHANGING_NAMESPACE}/${movingName(revision)}`;
}

function movingName(revision: number): string {
  return `moving-${revision}`;
}
