import type { EntityPageQuery, FacetCount, FacetsQuery } from '../CatalogStore';
import type { StockSearchRow } from './stockEntitySearch';
import { stockMatches } from './stockSearch';

/** What the stock catalog knows: the rows of its table `search`, by entity. */
export type StockEntities = Map<string, StockSearchRow[]>;

/** Compares texts as the database does. */
export type CompareTexts = (a: string, b: string) => number;

interface Row {
  entityId: string;
  value?: string;
}

/** The page and the count that the stock catalog finds. */
export function stockPage(
  entities: StockEntities,
  query: EntityPageQuery,
  compareTexts: CompareTexts,
): { rows: Row[]; totalItems: number } {
  const sortKey = query.order?.field.toLowerCase();
  const text = query.fullText?.term.trim().toLowerCase();
  const fields = query.fullText?.fields ?? [sortKey || 'metadata.uid'];
  const hasText = ({ value }: { value: string | null }) =>
    !text || (value !== null && like(value, text));
  const matching = [...entities].filter(
    ([, rows]) =>
      (!query.filter || stockMatches(rows, query.filter)) &&
      (!text ||
        rows.some(
          row =>
            fields.some(field => field.toLowerCase() === row.key) &&
            hasText(row),
        )),
  );
  const sign = (query.order?.order === 'desc') === !!query.backwards ? 1 : -1;
  const compare = (a: Row, b: Row) =>
    sign *
    (compareTexts(a.value ?? '', b.value ?? '') ||
      compareTexts(a.entityId, b.entityId));
  const { after, limit, offset = 0 } = query;
  const all = matching
    .flatMap(([entityId, rows]): Row[] =>
      sortKey === undefined
        ? [{ entityId }]
        : rows.flatMap(row =>
            row.key === sortKey &&
            row.value !== null &&
            (fields.length !== 1 || fields[0] !== sortKey || hasText(row))
              ? [{ entityId, value: row.value }]
              : [],
          ),
    )
    .sort(compare);
  return {
    rows: all
      .filter(
        row =>
          !after ||
          (after.value !== null &&
            compare(row, { value: row.value, ...after } as Row) > 0),
      )
      .slice(offset, offset + limit),
    totalItems: matching.filter(
      ([, rows]) =>
        sortKey === undefined ||
        rows.some(({ key, value }) => key === sortKey && value !== null),
    ).length,
  };
}

/** The facets that the stock catalog counts. */
export function stockFacets(
  entities: StockEntities,
  { facets, filter }: FacetsQuery,
  compareTexts: CompareTexts,
): Record<string, FacetCount[]> {
  const rows = [...entities.values()]
    .filter(each => !filter || stockMatches(each, filter))
    .flat();
  return Object.fromEntries(
    facets.map(facet => {
      const counts = new Map<string, number>();
      for (const { key, original_value: value } of rows) {
        if (key === facet.toLowerCase() && value !== null) {
          counts.set(value, (counts.get(value) ?? 0) + 1);
        }
      }
      const sorted = [...counts].sort(([a], [b]) => compareTexts(a, b));
      return [facet, sorted.map(([value, count]) => ({ value, count }))];
    }),
  );
}

/** Whether `value like '%<text>%'`. */
function like(value: string, text: string): boolean {
  const [tail, head] = [[...`${text}%`], [...value]];
  // Where the pattern goes on, for each place at which the value may have come to.
  const matches = (place: number, rest: number): boolean => {
    if (rest === tail.length) {
      return place === head.length;
    }
    switch (tail[rest]) {
      case '%':
        return (
          matches(place, rest + 1) ||
          (place < head.length && matches(place + 1, rest))
        );
      case '_':
        return place < head.length && matches(place + 1, rest + 1);
      case '\\':
        return (
          head[place] === tail[rest + 1] &&
          place < head.length &&
          matches(place + 1, rest + 2)
        );
      default:
        return head[place] === tail[rest] && matches(place + 1, rest + 1);
    }
  };
  return head.some((_, place) => matches(place, 0)) || matches(head.length, 0);
}
