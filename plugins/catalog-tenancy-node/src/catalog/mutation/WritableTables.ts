import { NotImplementedError } from '@backstage/errors';
import type { TenantTransaction } from '../../database';

/** What a mutation writes, besides what every database has. */
const WRITTEN: Record<string, readonly string[]> = {
  entities: [
    'tenant_id',
    'entity_id',
    'entity_ref',
    'entity_kind',
    'entity_namespace',
    'entity_name',
    'final_entity',
    'hash',
  ],
  relations: [
    'tenant_id',
    'originating_entity_id',
    'source_entity_ref',
    'type',
    'target_entity_ref',
  ],
  refresh_state: ['tenant_id', 'entity_id', 'location_key'],
};

interface Column {
  table: string;
  name: string;
  /** NOT NULL, and nothing gives it a value. */
  mandatory: boolean;
}

/**
 * Whether mutations can be written to the tables as they are: those of an existing
 * catalog may have other columns. Asked until they can.
 */
export class WritableTables {
  #writable = false;

  /** @throws `NotImplementedError` that names the columns at fault */
  async check(transaction: TenantTransaction): Promise<void> {
    if (this.#writable) {
      return;
    }
    const faults = findFaults(await readColumns(transaction));
    if (await hasUniqueSource(transaction)) {
      faults.push('refresh_state allows one row only for each location_key');
    }
    if (faults.length > 0) {
      throw new NotImplementedError(
        `Entities can't be written to the tables of this catalog: ${faults.join(
          '; ',
        )}`,
      );
    }
    this.#writable = true;
  }
}

function findFaults(columns: Column[]): string[] {
  return Object.entries(WRITTEN).flatMap(([table, written]) => {
    const present = columns.filter(column => column.table === table);
    const missing = written.filter(
      name => !present.some(column => column.name === name),
    );
    const unknown = present
      .filter(({ mandatory, name }) => mandatory && !written.includes(name))
      .map(({ name }) => name);
    return [
      ...(missing.length > 0
        ? [`${table} has no column ${missing.join(', ')}`]
        : []),
      ...(unknown.length > 0
        ? [`${table} wants a value for ${unknown.join(', ')}`]
        : []),
    ];
  });
}

async function readColumns(transaction: TenantTransaction): Promise<Column[]> {
  return transaction.query<Column>(
    transaction.knex.raw(
      `select t.name as "table", a.attname as name,
              a.attnotnull and not a.atthasdef and a.attidentity = '' as mandatory
         from unnest(?::text[]) t (name)
         join pg_catalog.pg_attribute a on a.attrelid = to_regclass(quote_ident(t.name))
        where a.attnum > 0 and not a.attisdropped
        order by t.name, a.attnum`,
      [Object.keys(WRITTEN)],
    ),
  );
}

/** An index on which the second entity of a source would fail. */
async function hasUniqueSource(
  transaction: TenantTransaction,
): Promise<boolean> {
  const [{ found }] = await transaction.query<{ found: boolean }>(
    transaction.knex.raw(
      `select exists (
         select from pg_catalog.pg_index i
          where i.indrelid = to_regclass('refresh_state') and i.indisunique
            and not exists (
              select from unnest((i.indkey::int2[])[0:i.indnkeyatts - 1]) k (attnum)
                left join pg_catalog.pg_attribute a
                  on a.attrelid = i.indrelid and a.attnum = k.attnum
               where a.attname is null or a.attname not in ('tenant_id', 'location_key'))
       ) as found`,
    ),
  );
  return found;
}
