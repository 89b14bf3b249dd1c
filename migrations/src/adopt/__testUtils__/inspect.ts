import { verify } from '../../verify/verify';
import { FAULTS } from '../state';
import type { StockCatalog } from './stockCatalog';

/** What differs between the stock catalog and the default tenant, by checksum. */
export async function differences(catalog: StockCatalog): Promise<string[]> {
  const { checks } = await catalog.migrate(verify, { mode: 'read' });
  return checks.flatMap(({ problems }) => problems);
}

export interface Fault {
  source: string;
  key: string;
  reason: string;
  sqlstate: string;
  attempts: number;
}

export async function faultsOf({ client }: StockCatalog): Promise<Fault[]> {
  const { rows } = await client.query<Fault>(
    `select source, key, reason, sqlstate, attempts from ${FAULTS} order by 1, 2`,
  );
  return rows;
}

/** The refs of the default tenant's entities. */
export async function refsOf({ client }: StockCatalog): Promise<string[]> {
  const { rows } = await client.query<{ ref: string }>(
    'select entity_ref as ref from entities order by 1',
  );
  return rows.map(({ ref }) => ref);
}

/** One column of rows. */
export async function column<T>(
  { client }: StockCatalog,
  query: string,
  values?: unknown[],
): Promise<T[]> {
  const { rows } = await client.query<T[]>({
    text: query,
    values,
    rowMode: 'array',
  });
  return rows.map(([value]) => value);
}
