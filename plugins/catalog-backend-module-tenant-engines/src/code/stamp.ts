import {
  ANNOTATION_LOCATION,
  ANNOTATION_ORIGIN_LOCATION,
  type Entity,
  stringifyEntityRef,
} from '@backstage/catalog-model';
import type {
  ProvidedEntity,
  TenantMutation,
} from 'backstage-plugin-catalog-tenancy-node';
import { createHash } from 'node:crypto';
import { type SourceBounds, withinSize } from '../sources/bounds';

/**
 * An annotation with the hash of an entity as it was passed in. The engine keeps the
 * annotation, so the served entity shows which version was processed.
 */
export const STAMP = 'catalog-tenancy/handed-over';

/** The same entity, with its stamp and with the location that the catalog demands. */
export function stamped(
  { entity: given, locationKey }: ProvidedEntity,
  source: string,
  bounds: Pick<SourceBounds, 'maxEntityBytes'>,
): ProvidedEntity {
  const location = `code:${source}`;
  const json = JSON.stringify(given);
  const entity = withinSize(given, json, bounds);
  return {
    locationKey,
    entity: {
      ...entity,
      metadata: {
        ...entity.metadata,
        annotations: {
          [ANNOTATION_LOCATION]: location,
          [ANNOTATION_ORIGIN_LOCATION]: location,
          ...entity.metadata?.annotations,
          [STAMP]: hashOf(json),
        },
      },
    },
  };
}

/** The stamps that the served entities of a mutation will have, by their refs. */
export function stampsOf(mutation: TenantMutation): Map<string, string> {
  const provided =
    mutation.type === 'full' ? mutation.entities : mutation.added;
  return new Map(
    provided.map(({ entity }) => [stringifyEntityRef(entity), stampOf(entity)]),
  );
}

/** Equal entities have equal stamps. */
export function stampOf(entity: Entity): string {
  return hashOf(JSON.stringify(entity));
}

function hashOf(json: string): string {
  return createHash('sha256').update(json).digest('base64url');
}
