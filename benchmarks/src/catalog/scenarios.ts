import type { Entity } from '@backstage/catalog-model';
import { get, pathByName, post, type Query } from '../harness/CatalogServer';
import { createEntity } from '../harness/entities';
import type { Scenario } from '../harness/scenarios';

interface Page {
  items: Entity[];
}

/** Different requests for pages of many kinds, so that hardly two at a time are equal. */
const MANY = 40;

const TARGET = 2;
// A route that reads nothing is not twice as fast.
const TARGET_BY_NAME = 1;
const REFS = 50;
const LIST = 100;
const PAGE = 20;
const BY_NAME_ORDER = { limit: PAGE, orderField: 'metadata.name,asc' };

const countOfPage = ({ items }: Page) => items.length;

/**
 * What is asked for.
 *
 * @param variants - how many different requests there are at most of a kind
 */
export function createScenarios(
  entities: number,
  variants: number,
): Scenario[] {
  const many = Math.min(MANY, variants);
  const numbers = Array.from({ length: variants }, (_, index) =>
    Math.floor((index * entities) / variants),
  );
  return [
    ...byName(numbers),
    byRefs(numbers, entities, REFS),
    {
      what: `list of ${LIST}`,
      target: TARGET,
      requests: Array.from({ length: many }, (_, index) => {
        const offset = Math.floor((index / many) * (entities - LIST));
        return get('/entities', { limit: LIST, offset });
      }),
      countOf: (answer: unknown[]) => answer.length,
      expected: LIST,
    },
    {
      what: `first page of ${PAGE}`,
      target: TARGET,
      requests: [get('/entities/by-query', { limit: PAGE })],
      countOf: countOfPage,
      expected: PAGE,
    },
    ...filters(many),
    ...facets(),
    {
      what: 'full text, in the order of names',
      requests: ['basket', 'ice', '-17'].map(fullTextFilterTerm =>
        get('/entities/by-query', { ...BY_NAME_ORDER, fullTextFilterTerm }),
      ),
      countOf: countOfPage,
    },
  ];
}

function byName(numbers: number[]): Scenario[] {
  const scenario: Scenario = {
    what: 'by name',
    target: TARGET_BY_NAME,
    requests: numbers.map(number =>
      get(pathByName(createEntity(number).entity)),
    ),
    countOf: (answer: object) => ('metadata' in answer ? 1 : 0),
    expected: 1,
  };
  return [
    scenario,
    {
      ...scenario,
      what: 'by name, as a user',
      requests: scenario.requests.map(each => ({ ...each, asUser: true })),
    },
  ];
}

/** Look-ups of several refs each. */
export function byRefs(
  numbers: number[],
  entities: number,
  count: number,
): Scenario {
  const refs = (first: number) =>
    Array.from(
      { length: count },
      (_, index) => createEntity((first + index * 7919) % entities).ref,
    );
  return {
    what: `by refs, ${count} of them`,
    requests: numbers.map(number =>
      post('/entities/by-refs', { entityRefs: refs(number) }),
    ),
    countOf: ({ items }: Page) => items.filter(Boolean).length,
    expected: count,
  };
}

/** Lists as the page of the catalog asks for them, by several filters. */
function filters(many: number): Scenario[] {
  const scenario = (what: string, ...values: string[]): Scenario => ({
    what: `filter: ${what}`,
    target: TARGET,
    requests: values.map(filter =>
      get('/entities/by-query', { ...BY_NAME_ORDER, filter }),
    ),
    countOf: countOfPage,
  });
  const owners = Array.from(
    { length: many },
    (_, team) => `relations.ownedBy=group:default/team-${team}`,
  );
  return [
    scenario('kind and type', 'kind=component,spec.type=service'),
    scenario('a tag', 'metadata.tags.java', 'metadata.tags.go'),
    scenario('an owner', ...owners),
  ];
}

function facets(): Scenario[] {
  const facet = ['kind', 'spec.type', 'metadata.tags'];
  const scenario = (what: string, query: Query): Scenario => ({
    what,
    target: TARGET,
    requests: [get('/entity-facets', { facet, ...query })],
    countOf: (answer: { facets: Record<string, unknown[]> }) =>
      Object.values(answer.facets).flat().length,
  });
  return [
    scenario('facets', {}),
    scenario('facets of a kind', { filter: 'kind=component' }),
  ];
}
