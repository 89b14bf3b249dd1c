import { InputError } from '@backstage/errors';
import type { CatalogMutation } from '../CatalogMutation';
import { toStoredRef } from '../entityRefs';
import { isStorable } from '../predicates';
import { prepareEntity } from './prepareEntity';
import type { PreparedEntity } from './prepareEntity';

/** A mutation whose every part can be stored. */
export interface PreparedMutation {
  type: CatalogMutation['type'];
  source: string | null;
  entities: PreparedEntity[];
  removedRefs: string[];
}

/**
 * Checks a mutation, without a look at the database.
 *
 * @throws `InputError`
 */
export function prepareMutation(mutation: CatalogMutation): PreparedMutation {
  const { type, source } = mutation;
  if (source !== undefined && !isSource(source)) {
    throw new InputError(
      `Invalid source ${JSON.stringify(source)}, expected a text`,
    );
  }
  switch (mutation.type) {
    case 'full':
      return {
        type,
        source: source ?? null,
        entities: prepareEntities(mutation.entities),
        removedRefs: [],
      };
    case 'delta': {
      const entities = prepareEntities(mutation.added);
      const removedRefs = mutation.removed.map(each =>
        toStoredRef(each.entityRef),
      );
      const added = new Set(entities.map(({ ref }) => ref));
      const both = removedRefs.find(ref => added.has(ref));
      if (both !== undefined) {
        throw new InputError(`Entity "${both}" is both added and removed`);
      }
      return {
        type,
        source: source ?? null,
        entities,
        removedRefs: [...new Set(removedRefs)].filter(isStorable),
      };
    }
    default:
      throw new InputError(
        `Invalid mutation type ${JSON.stringify(
          type,
        )}, expected "full" or "delta"`,
      );
  }
}

function prepareEntities(entities: unknown[]): PreparedEntity[] {
  const byRef = new Map<string, PreparedEntity>();
  entities.forEach((entity, position) => {
    const prepared = prepareEntity(entity, position);
    if (byRef.has(prepared.ref)) {
      throw new InputError(
        `Entity "${prepared.ref}" is there more than once, in whatever case`,
      );
    }
    byRef.set(prepared.ref, prepared);
  });
  return [...byRef.values()];
}

function isSource(source: unknown): boolean {
  return typeof source === 'string' && source !== '' && isStorable(source);
}
