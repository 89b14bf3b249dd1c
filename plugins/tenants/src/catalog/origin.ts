import type { Entity } from '@backstage/catalog-model';
import { ANNOTATION_SHARED_FROM } from 'backstage-plugin-tenants-common';

/** The slug of the tenant that shares an entity; nothing for an own one. */
export function sharedFrom({ metadata }: Entity): string | undefined {
  return metadata.annotations?.[ANNOTATION_SHARED_FROM];
}
