import type { EntityPageQuery } from 'backstage-plugin-catalog-tenancy-node';

/** The same for what goes by `final_entity`. */
export interface JsonQuestion {
  contains?: object;
  like?: string;
}

/** What is asked for: a page of 20 in the order of names, and how many there are. */
export interface Question {
  what: string;
  query: Pick<EntityPageQuery, 'filter' | 'fullText'>;
  json: JsonQuestion;
}

export const QUESTIONS: Question[] = [
  {
    what: 'kind and type',
    query: { filter: { kind: 'component', 'spec.type': 'service' } },
    json: { contains: { kind: 'Component', spec: { type: 'service' } } },
  },
  {
    what: 'an owner',
    query: { filter: { 'relations.ownedBy': 'group:default/team-31' } },
    json: {
      contains: {
        relations: [{ type: 'ownedBy', targetRef: 'group:default/team-31' }],
      },
    },
  },
  {
    what: 'a tag',
    query: { filter: { 'metadata.tags': 'kotlin' } },
    json: { contains: { metadata: { tags: ['kotlin'] } } },
  },
  {
    what: 'part of a name',
    query: { fullText: { term: 'ledger' } },
    json: { like: '%ledger%' },
  },
];
