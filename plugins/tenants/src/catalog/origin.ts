import type { Entity } from '@backstage/catalog-model';
import type { EntityFilter } from '@backstage/plugin-catalog-react';
import { ANNOTATION_SHARED_FROM } from 'backstage-plugin-tenants-common';

/** Where the catalog has the slug of the tenant that shares an entity. */
export const SHARED_FROM = `metadata.annotations.${ANNOTATION_SHARED_FROM}`;

export type Origin = 'own' | 'shared';

/** The slug of the tenant that shares an entity; nothing for an own one. */
export function sharedFrom({ metadata }: Entity): string | undefined {
  return metadata.annotations?.[ANNOTATION_SHARED_FROM];
}

/** Own entities, or copies of what other tenants share. */
export class EntityOriginFilter implements EntityFilter {
  readonly value: Origin;

  constructor(value: Origin) {
    this.value = value;
  }

  getCatalogQuery() {
    return { [SHARED_FROM]: { $exists: this.value === 'shared' } };
  }

  // Backstage 1.55 does not send the query.
  filterEntity(entity: Entity): boolean {
    return (sharedFrom(entity) !== undefined) === (this.value === 'shared');
  }

  toQueryValue(): string {
    return this.value;
  }
}
