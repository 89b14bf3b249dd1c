import type { CatalogDatabase } from '../../../__testUtils__/catalogDatabase';

/** How many rows of a table, or of all three, have no tenant. */
export async function rowsWithoutTenant(
  { client }: CatalogDatabase,
  table?: string,
): Promise<number> {
  const tables = table ? [table] : ['entities', 'relations', 'refresh_state'];
  const { rows } = await client.query(
    `select sum(n)::int as n from (${tables
      .map(name => `select count(*) as n from ${name} where tenant_id is null`)
      .join(' union all ')}) counts`,
  );
  return rows[0].n;
}
