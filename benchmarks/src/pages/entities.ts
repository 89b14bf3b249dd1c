import { createEntity, type GeneratedEntity } from '../harness/entities';
import { USER } from '../harness/backend';

// Pages follow relations, so all relations here lead to entities that exist, and each has
// its inverse, as the engine of the catalog leaves them. The specs say something else, which no
// page reads.

/**
 * Entities come in blocks of this many numbers: 12 components, 3 APIs and 2 resources of
 * one system, with a group and a user.
 */
const BLOCK = 20;

const COMPONENTS = 12;
const APIS = 3;
const FIRST_API = 12;
const FIRST_RESOURCE = 15;
const SYSTEM = 17;
const GROUP = 18;
const PERSON = 19;

/** So many blocks have one team, which is the first group of them, and owns everything. */
const BLOCKS_OF_TEAM = 8;

type Relation = { type: string; target: number };

/** The entities of a catalog of a certain size, which is a number of whole blocks. */
export class LinkedEntities {
  readonly #blocks: number;
  readonly #refs = new Map<number, string>();

  /** @throws Error for a number of entities that is none of whole blocks */
  constructor(entities: number) {
    if (entities % BLOCK !== 0) {
      throw new Error(`${entities} entities are no number of blocks of 20`);
    }
    this.#blocks = entities / BLOCK;
  }

  readonly create = (first: number, length: number): GeneratedEntity[] =>
    Array.from({ length }, (_, index) => this.#entity(first + index));

  refOf(number: number): string {
    const known = this.#refs.get(number);
    if (known !== undefined) {
      return known;
    }
    const ref = nameGuest(number, createEntity(number)).ref;
    this.#refs.set(number, ref);
    return ref;
  }

  #entity(number: number): GeneratedEntity {
    const generated = nameGuest(number, createEntity(number));
    const relations = this.#relationsOf(number)
      .map(({ type, target }) => ({ type, targetRef: this.refOf(target) }))
      .sort(
        (a, b) => compare(a.type, b.type) || compare(a.targetRef, b.targetRef),
      );
    const entity = { ...generated.entity, relations };
    return { ...generated, entity, relations };
  }

  #relationsOf(number: number): Relation[] {
    const block = Math.floor(number / BLOCK);
    const place = number % BLOCK;
    const here = (other: number) => block * BLOCK + other;
    const team = block - (block % BLOCKS_OF_TEAM);
    const teamNumber = team * BLOCK + GROUP;
    const owned = [
      { type: 'ownedBy', target: teamNumber },
      { type: 'partOf', target: here(SYSTEM) },
    ];
    if (place < COMPONENTS) {
      return [
        ...owned,
        ...(place < APIS
          ? [{ type: 'providesApi', target: here(FIRST_API + place) }]
          : []),
        ...(place >= APIS && place < 2 * APIS
          ? [{ type: 'consumesApi', target: here(FIRST_API + place - APIS) }]
          : []),
        { type: 'dependsOn', target: here(FIRST_RESOURCE + (place % 2)) },
        place % 2 === 1
          ? { type: 'dependsOn', target: here(place - 1) }
          : { type: 'dependencyOf', target: here(place + 1) },
      ];
    }
    if (place < FIRST_RESOURCE) {
      const api = place - FIRST_API;
      return [
        ...owned,
        { type: 'apiProvidedBy', target: here(api) },
        { type: 'apiConsumedBy', target: here(api + APIS) },
      ];
    }
    if (place < SYSTEM) {
      return [
        ...owned,
        ...range(0, COMPONENTS)
          .filter(component => component % 2 === place - FIRST_RESOURCE)
          .map(component => ({
            type: 'dependencyOf',
            target: here(component),
          })),
      ];
    }
    if (place === SYSTEM) {
      return [
        { type: 'ownedBy', target: teamNumber },
        ...range(0, SYSTEM).map(part => ({
          type: 'hasPart',
          target: here(part),
        })),
      ];
    }
    if (place === PERSON) {
      return [...new Set([here(GROUP), teamNumber])].map(target => ({
        type: 'memberOf',
        target,
      }));
    }
    if (number !== teamNumber) {
      return [
        { type: 'childOf', target: teamNumber },
        { type: 'hasMember', target: here(PERSON) },
      ];
    }
    const blocks = range(team, Math.min(team + BLOCKS_OF_TEAM, this.#blocks));
    return blocks.flatMap(each => [
      ...(each === team
        ? []
        : [{ type: 'parentOf', target: each * BLOCK + GROUP }]),
      { type: 'hasMember', target: each * BLOCK + PERSON },
      ...range(0, SYSTEM + 1).map(part => ({
        type: 'ownerOf',
        target: each * BLOCK + part,
      })),
    ]);
  }
}

/** The first user is who looks at the pages. */
function nameGuest(
  number: number,
  generated: GeneratedEntity,
): GeneratedEntity {
  if (number !== PERSON) {
    return generated;
  }
  const { entity } = generated;
  return {
    ...generated,
    ref: USER,
    entity: { ...entity, metadata: { ...entity.metadata, name: 'guest' } },
  };
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, index) => from + index);
}

function compare(a: string, b: string): number {
  if (a === b) {
    return 0;
  }
  return a < b ? -1 : 1;
}
