import {
  ConflictError,
  NotAllowedError,
  NotFoundError,
  NotImplementedError,
} from '@backstage/errors';
import type { Knex } from 'knex';
import type {
  TenantDatabase,
  TenantTransaction,
} from '../../database/TenantDatabase';
import { parseTenantId } from '../../pool/context';
import { DEFAULT_TENANT_ID } from '../../tenants/Tenant';
import type { CatalogMutation, MutationResult } from '../CatalogStore';
import { planMutation } from './planMutation';
import { prepareMutation } from './prepareMutation';
import { writePlan } from './writePlan';

/** Runs one piece of work at a time for each key, in the order in which they came. */
class KeyedMutex {
  readonly #last = new Map<string, Promise<void>>();

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    const result = (async () => {
      await before;
      return await work();
    })();
    const over = result.then(
      () => undefined,
      () => undefined,
    );
    this.#last.set(key, over);
    try {
      return await result;
    } finally {
      if (this.#last.get(key) === over) {
        this.#last.delete(key);
      }
    }
  }
}

/** Applies mutations: see `applyMutation` of the catalog store. */
export class CatalogWriter {
  readonly #database: TenantDatabase;
  // Asked until they are.
  #areTablesWritable = false;
  // A mutation waits for the lock of its tenant on a connection. Without the mutex,
  // mutations of one tenant could hold all of them, and every other tenant would wait.
  readonly #mutex = new KeyedMutex();

  constructor(database: TenantDatabase) {
    this.#database = database;
  }

  async apply(
    anyTenantId: string,
    mutation: CatalogMutation,
  ): Promise<MutationResult> {
    const tenantId = parseTenantId(anyTenantId);
    const prepared = prepareMutation(mutation);
    return this.#mutex.run(tenantId, () =>
      this.#database.transaction(tenantId, async transaction => {
        await transaction.query(lockTenant(transaction.knex, tenantId));
        await readMaxEntities(transaction);
        await refuseEngine(transaction);
        await refuseAdopted(transaction);
        if (!this.#areTablesWritable) {
          await assertWritable(transaction);
          this.#areTablesWritable = true;
        }
        const plan = await planMutation(transaction, prepared);
        await writePlan(transaction, plan);
        await checkTenantAtEnd(transaction, {
          grows:
            plan.inserted.length + plan.revived.length > plan.deleted.length,
        });
        return {
          inserted: plan.inserted.length,
          updated: plan.updated.length,
          revived: plan.revived.length,
          unchanged: plan.unchanged,
          deleted: plan.deleted.length,
        };
      }),
    );
  }
}

/** A process that holds the lock and is silent for so long has gone. */
const SILENCE_MS = 60_000;

/**
 * Takes the lock under which the entities of a tenant are changed, and waits for it.
 *
 * It is an advisory lock of PostgreSQL, held until the transaction ends. It keeps
 * other mutations of the tenant waiting, in whatever process, and its purge: what
 * one of them has read stays true until it has written. Nothing else waits for it, and
 * no reader does. It is the first lock of its transaction and the only one of
 * its kind there, so it cannot be part of a deadlock. PostgreSQL
 * notices a vanished machine after hours, so it ends a transaction that is silent.
 *
 * Foreign keys are checked for one tenant at a time until then. PostgreSQL would try
 * a plan for all of them, once for each connection, and lock the partitions of every
 * tenant for it: with hundreds of them there is no room for so many locks.
 */
export function lockTenant(knex: Knex, tenantId: string): Knex.Raw {
  return knex.raw(
    `select set_config('idle_in_transaction_session_timeout', '${SILENCE_MS}', true),
            set_config('plan_cache_mode', 'force_custom_plan', true),
            pg_advisory_xact_lock(hashtextextended(?, 0))`,
    [`catalog-tenancy:entities:${tenantId.toLowerCase()}`],
  );
}

/**
 * The `max_entities` of the tenant; null if nothing limits it.
 *
 * The application may not lock rows of the registry, so this is asked again at the
 * end of a mutation. A tenant that is deleted after that was still active when the
 * mutation was made.
 *
 * @throws `NotFoundError` if there is no such active tenant
 */
async function readMaxEntities(
  transaction: TenantTransaction,
): Promise<number | null> {
  const { knex, tenantId } = transaction;
  const [tenant] = await transaction.query<{ max_entities: number | null }>(
    knex('tenants')
      .where('tenant_id', tenantId)
      .whereNull('deleted_at')
      .select('max_entities'),
  );
  if (!tenant) {
    throw new NotFoundError(`There is no active tenant ${tenantId}`);
  }
  return tenant.max_entities;
}

/**
 * @param grows - whether there are more live entities than before. Others may be
 * changed even where a limit was lowered below what the tenant has
 * @throws `NotAllowedError` if the tenant has more live entities than it may have;
 * `NotFoundError` if it is not active any more
 */
async function checkTenantAtEnd(
  transaction: TenantTransaction,
  { grows }: { grows: boolean },
): Promise<void> {
  const maxEntities = await readMaxEntities(transaction);
  if (!grows || maxEntities === null) {
    return;
  }
  const [{ live }] = await transaction.query<{ live: number }>(
    transaction
      .table('entities')
      .whereNull('deleted_at')
      .select(transaction.knex.raw('count(*)::int as live')),
  );
  if (live > maxEntities) {
    throw new NotAllowedError(
      `The tenant would have ${live} entities, and may have ${maxEntities} (max_entities)`,
    );
  }
}

/**
 * Refuses a mutation of a tenant where an adopted engine writes its entities. The engine
 * would neither know of what a mutation adds, nor leave what it changes.
 *
 * The triggers on the tables of the engine tell, which every user may see: their argument
 * is the tenant, and without one they are the default tenant's. An adoption that begins at
 * this moment replaces what is there.
 *
 * @throws `ConflictError`
 */
async function refuseAdopted(transaction: TenantTransaction): Promise<void> {
  const { tenantId } = transaction;
  if (await isAdopted(transaction, tenantId)) {
    throw new ConflictError(
      `The entities of the ${
        tenantId === DEFAULT_TENANT_ID ? 'default tenant' : 'tenant'
      } are those of the catalog that was adopted: ` +
        'its engine writes them, and nobody else can',
    );
  }
}

/** Whether triggers carry what an engine writes to the rows of the tenant. */
export async function isAdopted(
  transaction: Pick<TenantTransaction, 'knex' | 'query'>,
  tenantId: string,
): Promise<boolean> {
  const [{ adopted }] = await transaction.query<{ adopted: boolean }>(
    transaction.knex.raw(
      `select exists (
         select from pg_class r join pg_trigger t on t.tgrelid = r.oid
          where r.relname = 'final_entities'
            and t.tgfoid = to_regprocedure('adoption_on_final_entities()')
            and case t.tgnargs when 0 then ?::boolean
                  else t.tgargs = convert_to(?, 'UTF8') || '\\x00'::bytea end) as adopted`,
      [tenantId === DEFAULT_TENANT_ID, tenantId],
    ),
  );
  return adopted;
}

/**
 * Refuses a mutation of a tenant that a catalog engine feeds: one or the other writes its
 * entities. Who gives a tenant an engine takes the lock of the mutation first.
 *
 * @throws `ConflictError`
 */
async function refuseEngine(transaction: TenantTransaction): Promise<void> {
  const { knex, tenantId } = transaction;
  const [engine] = await transaction.query<{ tenant_slug: string }>(
    knex({ e: 'tenant_engines' })
      .join({ t: 'tenants' }, 't.tenant_id', 'e.tenant_id')
      .where('e.tenant_id', tenantId)
      .whereNull('e.disabled_at')
      .select('t.tenant_slug'),
  );
  if (engine) {
    throw new ConflictError(
      `The entities of the tenant '${engine.tenant_slug}' are those of its catalog engine, ` +
        'which alone writes them. To write them by code, take the engine from the tenant ' +
        `first: DELETE /api/tenants/${engine.tenant_slug}/engine`,
    );
  }
}

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
 * The tables of an existing catalog may have other columns than mutations write.
 *
 * @throws `NotImplementedError` that names the columns at fault
 */
async function assertWritable(transaction: TenantTransaction): Promise<void> {
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
