import {
  type Entity,
  type EntityRelation,
  parseEntityRef,
  stringifyEntityRef,
} from '@backstage/catalog-model';

// A field of a spec, the kind that it names, and the relation in both directions.
const FIELDS: Array<
  [field: string, kind: string | undefined, type: string, back: string]
> = [
  ['owner', 'Group', 'ownedBy', 'ownerOf'],
  ['memberOf', 'Group', 'memberOf', 'hasMember'],
  ['parent', 'Group', 'childOf', 'parentOf'],
  ['domain', 'Domain', 'partOf', 'hasPart'],
  ['system', 'System', 'partOf', 'hasPart'],
  ['providesApis', 'API', 'providesApi', 'apiProvidedBy'],
  ['consumesApis', 'API', 'consumesApi', 'apiConsumedBy'],
  ['dependsOn', undefined, 'dependsOn', 'dependencyOf'],
];

/**
 * Entities as they are read again. The engine of the stock catalog would derive the
 * relations, but works for the default tenant only.
 */
export function withRelations(entities: Entity[]): Entity[] {
  const relations = new Map<string, EntityRelation[]>();
  const relate = (sourceRef: string, type: string, targetRef: string) =>
    relations.set(sourceRef, [
      ...(relations.get(sourceRef) ?? []),
      { type, targetRef },
    ]);
  for (const entity of entities) {
    const ref = stringifyEntityRef(entity);
    for (const [field, defaultKind, type, back] of FIELDS) {
      for (const name of [entity.spec?.[field] ?? []].flat().map(String)) {
        const target = stringifyEntityRef(
          parseEntityRef(name, { defaultKind }),
        );
        relate(ref, type, target);
        relate(target, back, ref);
      }
    }
  }
  return entities.map(entity => ({
    ...entity,
    metadata: { namespace: 'default', ...entity.metadata },
    relations: relations.get(stringifyEntityRef(entity)) ?? [],
  }));
}
