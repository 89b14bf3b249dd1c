import {
  type Entity,
  type EntityRelation,
  stringifyEntityRef,
} from '@backstage/catalog-model';
import { InputError } from '@backstage/errors';
import { BuiltinKindsEntityProcessor } from '@backstage/plugin-catalog-backend';
import { sortBy, uniqBy } from 'lodash';

/**
 * Makes entities as one writes them in a catalog-info file final: with the default namespace,
 * and with the relations that the stock catalog derives from their specs, on both sides. What
 * it returns is for `applyMutation` of the catalog store, which stores entities as they are.
 *
 * The relations are those of Backstage's own kinds. A relation to an entity that is not among
 * these is kept on the side that is.
 *
 * @param entities - of one mutation, since relations are found among these
 * @throws `InputError` that names the entity which is not as its kind demands, or the two of
 * one ref
 * @public
 */
export async function toFinalEntities(entities: Entity[]): Promise<Entity[]> {
  const processor = new BuiltinKindsEntityProcessor();
  const relations = new Map<string, EntityRelation[]>();
  const finals = new Map<string, Entity>();
  for (const given of entities) {
    const entity = await processor.preProcessEntity({
      ...given,
      metadata: { namespace: 'default', ...given.metadata },
    });
    const ref = stringifyEntityRef(entity);
    if (finals.has(ref)) {
      throw new InputError(`The entity ${ref} is there twice`);
    }
    finals.set(ref, entity);
    await assertValid(processor, entity, ref);
    await processor.postProcessEntity(
      entity,
      { type: 'code', target: ref },
      result => {
        if (result.type === 'relation') {
          const { source, type, target } = result.relation;
          const sourceRef = stringifyEntityRef(source);
          const targetRef = stringifyEntityRef(target);
          const known = relations.get(sourceRef) ?? [];
          relations.set(sourceRef, [...known, { type, targetRef }]);
        }
      },
    );
  }
  return [...finals].map(([ref, entity]) => ({
    ...entity,
    relations: distinct([
      ...(entity.relations ?? []),
      ...(relations.get(ref) ?? []),
    ]),
  }));
}

async function assertValid(
  processor: BuiltinKindsEntityProcessor,
  entity: Entity,
  ref: string,
): Promise<void> {
  try {
    // False for kinds that are not Backstage's own, which have no relations here.
    await processor.validateEntityKind(entity);
  } catch (error) {
    throw new InputError(
      `The entity ${ref} is not as its kind demands: ${
        (error as Error).message
      }`,
    );
  }
}

/** Each relation once, in the order of the stock catalog. */
function distinct(relations: EntityRelation[]): EntityRelation[] {
  const keyOf = ({ type, targetRef }: EntityRelation) => `${type} ${targetRef}`;
  return sortBy(uniqBy(relations, keyOf), 'type', 'targetRef');
}
