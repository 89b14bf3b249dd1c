import { findTenantSchemas } from '../adopt/engine';
import { refuseWithoutRights } from '../schema/rights';
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
interface OnTenant {
  /** On the tables of its engine and instances, unless their schemas go. */
  own?: readonly string[];
  mockups: readonly string[];
  /** Unless it only reads: the parts whose tables it makes where they are missing. */
  makes?: readonly string[];
  /** If its schemas go: tables of plugins that lose rows too, each with a column that it has. */
  removes?: readonly (readonly [table: string, column: string])[];
}

/**
 * Looks for the rights to the tables that a tenant has in all databases of a portal.
 *
 * @throws {@link RefusedError} with the rights that the login lacks
 */
export async function refuseWithoutRightsOn(
  places: Place[],
  tenantId: string,
  { own = [], mockups, makes, removes }: OnTenant,
): Promise<void> {
  for (const place of places) {
    const { executor } = place;
    const schemas = await findTenantSchemas(executor, tenantId);
    const needed = (
      tables: Pick<FoundSection, 'schema' | 'table'>[],
      rights: readonly string[],
    ) => tables.map(({ schema, table }) => ({ schema, table, rights }));
    const tables = needed(
      await mockupSections(executor, removes !== undefined),
      mockups,
    );
    if (!removes) {
      const migrated = schemas.map(schema => ({
        schema,
        table: 'knex_migrations',
      }));
      tables.push(
        ...needed(await schemaSections(executor, tenantId), own),
        ...needed(migrated, ['select']),
      );
    }
    for (const [table, column] of removes ?? []) {
      const found = await sharedSchemas(executor, table, column);
      tables.push(
        ...needed(
          found.map(schema => ({ schema, table })),
          ['select', 'delete'],
        ),
      );
    }
    await refuseWithoutRights(executor, {
      tables,
      schemas: removes && schemas,
      functionName: (makes ?? removes) && functionOf(tenantId),
      creates: makes?.some(
        part =>
          isOwnSchema(part) &&
          placeOf(places, part) === place &&
          !schemas.includes(schemaOfPart(part, tenantId)),
      ),
    });
  }
}
