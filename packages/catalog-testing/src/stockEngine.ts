import { createBackendModule } from '@backstage/backend-plugin-api';
import {
  type Entity,
  parseEntityRef,
  stringifyEntityRef,
} from '@backstage/catalog-model';
import { catalogProcessingExtensionPoint } from '@backstage/plugin-catalog-node';
import { waitUntil } from '@internal/postgres/testUtils';

/** Hands entities over to the engine of the stock catalog. */
export function entityProvider(entities: Entity[]) {
  return createBackendModule({
    pluginId: 'catalog',
    moduleId: 'sample-entities',
    register(env) {
      env.registerInit({
        deps: { processing: catalogProcessingExtensionPoint },
        async init({ processing }) {
          processing.addEntityProvider({
            getProviderName: () => 'sample-entities',
            connect: connection =>
              connection.applyMutation({
                type: 'full',
                entities: entities.map(entity => ({
                  entity,
                  locationKey: 'sample-entities',
                })),
              }),
          });
        },
      });
    },
  });
}

/** Waits until the engine has done all it has to do with `count` entities. */
export async function settled(
  list: () => Promise<Entity[]>,
  count: number,
): Promise<Entity[]> {
  let entities: Entity[] = [];
  await waitUntil('the engine to ingest the entities', async () => {
    entities = await list();
    return entities.length === count && entities.every(isStitched(entities));
  });
  return entities;
}

/** Relations are found by one side, and shown on both. */
function isStitched(entities: Entity[]): (entity: Entity) => boolean {
  const relationsOf = new Map(
    entities.map(entity => [
      stringifyEntityRef(entity),
      entity.relations ?? [],
    ]),
  );
  return entity => {
    const ref = stringifyEntityRef(entity);
    const relations = relationsOf.get(ref) ?? [];
    return (
      relations.length >= (parseEntityRef(ref).kind === 'component' ? 3 : 1) &&
      relations.every(
        ({ targetRef }) =>
          // To what is not there, there may be relations too.
          relationsOf
            .get(targetRef)
            ?.some(({ targetRef: back }) => back === ref) ?? true,
      )
    );
  };
}
