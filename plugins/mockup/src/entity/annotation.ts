import type { Entity } from '@backstage/catalog-model';

/**
 * The annotation by which an entity names mockups that belong to it: their ids, with commas
 * between them.
 *
 * @public
 */
export const MOCKUPS_ANNOTATION = 'mockup.backstage.io/mockups';

/** Whether an entity names mockups. */
export function isMockupsAvailable(entity: Entity): boolean {
  return Boolean(entity.metadata.annotations?.[MOCKUPS_ANNOTATION]);
}

/** The ids of the mockups that an entity names, each once. */
export function mockupIdsOf(entity: Entity): string[] {
  const ids = (entity.metadata.annotations?.[MOCKUPS_ANNOTATION] ?? '')
    .split(',')
    .map(id => id.trim())
    .filter(Boolean);
  return [...new Set(ids)];
}
