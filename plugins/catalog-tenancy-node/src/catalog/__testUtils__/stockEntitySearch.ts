import type { JsonObject } from '@backstage/types';
import { dirname, join } from 'node:path';

/** A row of the stock catalog's table `search`. */
export interface StockSearchRow {
  key: string;
  value: string | null;
  original_value: string | null;
}

interface StockModule {
  buildEntitySearch(entityId: string, entity: JsonObject): StockSearchRow[];
  traverse(entity: JsonObject): { key: string; value: unknown }[];
  mapToRows(
    raw: { key: string; value: unknown }[],
    entityId: string,
  ): StockSearchRow[];
}

/** The stock catalog's own code, which it does not export. */
const stock: StockModule = jest.requireActual(
  join(
    dirname(require.resolve('@backstage/plugin-catalog-backend/package.json')),
    'dist/database/operations/stitcher/buildEntitySearch.cjs.js',
  ),
);

/**
 * The rows that the stock catalog writes for an entity. It refuses one with keys
 * that vary only in casing; for that, the rows that it would write if it did not.
 */
export function stockEntitySearch(
  entityId: string,
  entity: JsonObject,
): { rows: StockSearchRow[]; refused: boolean } {
  try {
    return { rows: stock.buildEntitySearch(entityId, entity), refused: false };
  } catch (error) {
    if (!(error as Error).message.includes('vary only in casing')) {
      throw error;
    }
    return { rows: mergedRows(entityId, entity), refused: true };
  }
}

function mergedRows(entityId: string, entity: JsonObject): StockSearchRow[] {
  const metadata = entity.metadata as JsonObject;
  const relations = (entity.relations ?? []) as JsonObject[];
  const rows = stock.mapToRows(
    [
      ...stock.traverse(entity),
      { key: 'metadata.name', value: metadata.name },
      { key: 'metadata.namespace', value: metadata.namespace },
      { key: 'metadata.uid', value: metadata.uid },
      ...(metadata.namespace
        ? []
        : [{ key: 'metadata.namespace', value: 'default' }]),
      ...relations.map(({ type, targetRef }) => ({
        key: `relations.${type}`,
        value: targetRef,
      })),
    ],
    entityId,
  );
  return [
    ...new Map(
      // The first one of equal rows stays.
      [...rows]
        .reverse()
        .map(row => [JSON.stringify([row.key, row.value]), row]),
    ).values(),
  ];
}
