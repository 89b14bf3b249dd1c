import { InputError } from '@backstage/errors';
import type { Entity } from '@backstage/catalog-model';
import type {
  EntityPage,
  EntityPageQuery,
  EntityPageRow,
  FacetCount,
  FacetsQuery,
} from 'backstage-plugin-catalog-tenancy-node';
import { matchesFilter } from './matchesFilter';
import { searchTermsOf, type SearchTerms } from './searchTerms';

interface Found {
  entity: Entity;
  terms: SearchTerms;
}

/** A page of some entities, as the stock catalog makes it. */
export function readPage(
  entities: Entity[],
  query: EntityPageQuery,
): EntityPage {
  const { order, limit, offset = 0, total } = query;
  refuseNegative('limit', limit);
  refuseNegative('offset', offset);
  const matching = entities
    .map(entity => ({ entity, terms: searchTermsOf(entity) }))
    .filter(({ terms }) => !query.filter || matchesFilter(terms, query.filter));
  const sortKey = order?.field.toLowerCase();
  const { found, holdsTerm } = searchText(matching, query, sortKey);
  const sign = (order?.order === 'desc') === Boolean(query.backwards) ? 1 : -1;
  const rows = found
    .flatMap(each => rowsOf(each, sortKey))
    .filter(({ value }) => holdsTerm(value))
    .sort((a, b) => sign * compareRows(a, b))
    .filter(row => isAfter(row, query.after, sign));
  return {
    rows: rows.slice(offset, offset + limit),
    ...(total && {
      totalItems: found.filter(
        ({ terms }) =>
          sortKey === undefined ||
          valuesOf(terms, sortKey).some(value => value !== null),
      ).length,
    }),
  };
}

function searchText(
  entities: Found[],
  { fullText }: EntityPageQuery,
  sortKey: string | undefined,
): { found: Found[]; holdsTerm: (value: string | undefined) => boolean } {
  const term = fullText?.term.trim().toLowerCase();
  if (!term) {
    return { found: entities, holdsTerm: () => true };
  }
  const fields = fullText?.fields ?? [sortKey || 'metadata.uid'];
  const pattern = likePattern(term);
  return {
    found: entities.filter(({ terms }) =>
      fields.some(field =>
        valuesOf(terms, field).some(
          value => value !== null && pattern.test(value),
        ),
      ),
    ),
    holdsTerm: value =>
      fields.length !== 1 ||
      fields[0] !== sortKey ||
      (value !== undefined && pattern.test(value)),
  };
}

/** What `like '%<term>%'` finds. */
function likePattern(term: string): RegExp {
  const parts = [...term.matchAll(/\\(.)|([%_])|(.)/gsu)].map(
    ([, escaped, wildcard, plain]) => {
      if (wildcard) {
        return wildcard === '%' ? '.*' : '.';
      }
      return (escaped ?? plain).replace(/[\\^$.*+?()[\]{}|/-]/, '\\$&');
    },
  );
  return new RegExp(parts.join(''), 'su');
}

function rowsOf(
  { entity, terms }: Found,
  sortKey: string | undefined,
): EntityPageRow[] {
  const row = {
    json: JSON.stringify(entity),
    entityId: entity.metadata.uid ?? '',
  };
  return sortKey === undefined
    ? [row]
    : valuesOf(terms, sortKey).flatMap(value =>
        value === null ? [] : [{ ...row, value }],
      );
}

function compareRows(a: EntityPageRow, b: EntityPageRow): number {
  return (
    compareTexts(a.value ?? '', b.value ?? '') ||
    compareTexts(a.entityId, b.entityId)
  );
}

function isAfter(
  row: EntityPageRow,
  after: EntityPageQuery['after'],
  sign: number,
): boolean {
  if (!after) {
    return true;
  }
  const { value, entityId } = after;
  if (value === null) {
    return false;
  }
  const place = { json: '', entityId, value: value ?? row.value };
  return sign * compareRows(row, place) > 0;
}

/** How many of some entities have which values. */
export function countFacets(
  entities: Entity[],
  { facets, filter }: FacetsQuery,
): Record<string, FacetCount[]> {
  const matching = entities
    .map(searchTermsOf)
    .filter(terms => !filter || matchesFilter(terms, filter));
  const countsOf = (facet: string) => {
    const counts = new Map<string, number>();
    for (const terms of matching) {
      for (const value of new Set(
        terms.get(facet.toLowerCase())?.values() ?? [],
      )) {
        if (value !== null) {
          counts.set(value, (counts.get(value) ?? 0) + 1);
        }
      }
    }
    return [...counts]
      .sort(([a], [b]) => compareTexts(a, b))
      .map(([value, count]) => ({ value, count }));
  };
  return Object.fromEntries(facets.map(facet => [facet, countsOf(facet)]));
}

/** In lower case. */
function valuesOf(terms: SearchTerms, field: string): Array<string | null> {
  return [...(terms.get(field.toLowerCase())?.keys() ?? [])];
}

function compareTexts(a: string, b: string): number {
  if (a === b) {
    return 0;
  }
  return a < b ? -1 : 1;
}

function refuseNegative(name: string, value: number): void {
  if (!(Number.isSafeInteger(value) && value >= 0)) {
    throw new InputError(
      `Invalid ${name} ${value}, expected a whole number of 0 or more`,
    );
  }
}
