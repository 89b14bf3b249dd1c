import type { Entity } from '@backstage/catalog-model';
import type {
  ApiHolder,
  AppNode,
  ExtensionDataRef,
} from '@backstage/frontend-plugin-api';
import { EntityContentBlueprint } from '@backstage/plugin-catalog-react/alpha';
import { pageTenantApiRef } from '../openTenant/PageTenant';

const { filterFunction, filterExpression } = EntityContentBlueprint.dataRefs;

/** What other plugins add to a page of the catalog. */
interface Added {
  node: AppNode;
  get(ref: ExtensionDataRef): unknown;
}

/**
 * What is added to the page of an entity, without that of plugins which the open tenant does not
 * have. That is asked for each entity: a page is made before its tenant is known. A filter that is
 * text, which is deprecated, stays as it is.
 */
export function ofOpenTenant<T extends { node: AppNode }>(
  apis: ApiHolder,
  all: readonly T[],
): T[] {
  return (all as readonly (T & Added)[]).map(added => {
    if (added.get(filterExpression) !== undefined) {
      return added;
    }
    const isShown = added.get(filterFunction) as
      | ((entity: Entity) => boolean)
      | undefined;
    const { pluginId } = added.node.spec.plugin;
    const isShownHere = (entity: Entity) =>
      !apis.get(pageTenantApiRef)?.closedPlugins.includes(pluginId) &&
      (isShown?.(entity) ?? true);
    return Object.create(added, {
      get: {
        value: (ref: ExtensionDataRef) =>
          ref.id === filterFunction.id ? isShownHere : added.get(ref),
      },
    });
  });
}
