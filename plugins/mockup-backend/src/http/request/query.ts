import {
  compareVersionsQuerySchema,
  listMockupsQuerySchema,
  listTrashQuerySchema,
  paginationSchema,
  parseInput,
} from 'backstage-plugin-mockup-common';
import type { Request } from 'express';
import type { z } from 'zod';

/**
 * Parses the query of the list of mockups.
 *
 * @throws InputError that names each unknown or malformed parameter
 */
export function parseListMockupsQuery(
  req: Request,
): z.output<typeof listMockupsQuerySchema> {
  return parseInput(listMockupsQuerySchema, withNumbers(req.query), 'query');
}

/**
 * Parses the query of the list of deleted mockups.
 *
 * @throws InputError that names each unknown or malformed parameter
 */
export function parseListTrashQuery(
  req: Request,
): z.output<typeof listTrashQuerySchema> {
  return parseInput(listTrashQuerySchema, withNumbers(req.query), 'query');
}

/**
 * Parses the query of a list that can only be paged.
 *
 * @throws InputError that names each unknown or malformed parameter
 */
export function parsePagination(
  req: Request,
): z.output<typeof paginationSchema> {
  return parseInput(paginationSchema, withNumbers(req.query), 'query');
}

/**
 * Parses the query of a comparison of two versions.
 *
 * @throws InputError that names each unknown, missing or malformed parameter
 */
export function parseCompareVersionsQuery(req: Request): { to: string } {
  return parseInput(compareVersionsQuerySchema, req.query, 'query');
}

/** Converts plain decimal numbers, and leaves everything else as text. */
function withNumbers(query: Request['query']): Record<string, unknown> {
  const parsed: Record<string, unknown> = { ...query };
  for (const key of ['limit', 'offset']) {
    const value = parsed[key];
    if (typeof value === 'string' && /^\d+$/.test(value)) {
      parsed[key] = Number(value);
    }
  }
  return parsed;
}
