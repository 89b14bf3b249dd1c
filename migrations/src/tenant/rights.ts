import { findTenantSchemas } from '../adopt/engine';
import { RefusedError } from '../errors';
import { describeLacking } from '../schema/rights';
import type { NeededTable } from '../schema/rights';
import { type Place, placeOf } from './places';
import { functionOf } from './refusedWrites';
import {
  type FoundSection,
  isOwnSchema,
  mockupSections,
  schemaOfPart,
  schemaSections,
  sharedSchemas,
} from './sections';

/** What a command does with the tables of a tenant. */
export interface OnTenant {
  /** On the tables of its engine and instances, unless their schemas go. */
  own?: readonly string[];
  mockups: readonly string[];
  /** Unless it only reads: the parts whose tables it makes where they are missing. */
  makes?: readonly string[];
  /** If its schemas go: tables of plugins that lose rows too, each with a column that it has. */
  removes?: readonly (readonly [table: string, column: string])[];
  /** In the database of the catalog. */
  others?: readonly NeededTable[];
}

/**
 * Looks for the rights to the tables that a tenant has in all databases of a portal.
 *
 * @throws {@link RefusedError} with the rights that the login lacks
 */
export async function refuseWithoutRightsOn(
  places: Place[],
  tenantId: string,
  { own = [], mockups, makes, removes, others = [] }: OnTenant,
): Promise<void> {
  const lacking: string[] = [];
  for (const place of places) {
    const { executor } = place;
    const schemas = await findTenantSchemas(executor, tenantId);
    const withRights = (
      tables: Pick<FoundSection, 'schema' | 'table'>[],
      rights: readonly string[],
    ): NeededTable[] =>
      tables.map(({ schema, table }) => ({ schema, table, rights }));
    const tables = withRights(
      await mockupSections(executor, removes !== undefined),
      mockups,
    );
    tables.push(...(place === places[0] ? others : []));
    if (!removes) {
      const migrated = schemas.map(schema => ({
        schema,
        table: 'knex_migrations',
      }));
      tables.push(
        ...withRights(await schemaSections(executor, tenantId), own),
        ...withRights(migrated, ['select']),
      );
    }
    for (const [table, column] of removes ?? []) {
      const found = await sharedSchemas(executor, table, column);
      tables.push(
        ...withRights(
          found.map(schema => ({ schema, table })),
          ['select', 'delete'],
        ),
      );
    }
    const needed = {
      tables,
      schemas: removes && schemas,
      functionName: (makes ?? removes) && functionOf(tenantId),
      creates: makes?.some(
        part =>
          isOwnSchema(part) &&
          placeOf(places, part) === place &&
          (removes || !schemas.includes(schemaOfPart(part, tenantId))),
      ),
    };
    lacking.push(...(await describeLacking(executor, needed)));
  }
  if (lacking.length > 0) {
    throw new RefusedError(lacking.join('\n'));
  }
}
