import { engineSchemaOf } from 'backstage-catalog-tenancy-migrations';
import { escapeIdentifier } from 'pg';
import { STAMP } from '../code/stamp';
import { saysTablesAreGone } from '../engine/failures';
import type { EnginePool } from '../work/EnginePool';
import { ownersOf } from '../work/ownersOf';
import { SHARES_SOURCE } from './copies';

/**
 * The stamps of the copies that the provider of a tenant's engine has, by ref: also of those that
 * the engine has not processed yet. The engine need not run.
 */
export async function readGiven(
  pool: Pick<EnginePool, 'query'>,
  tenantId: string,
): Promise<Map<string, string>> {
  const schema = escapeIdentifier(engineSchemaOf(tenantId));
  const rows = await unlessWithoutTables(
    pool.query<{ ref: string; stamp: string }>(
      `select s.entity_ref as ref,
              s.unprocessed_entity::jsonb #>> array['metadata', 'annotations', $2] as stamp
         from ${schema}.refresh_state_references r
         join ${schema}.refresh_state s on s.entity_ref = r.target_entity_ref
        where r.source_key = $1`,
      [SHARES_SOURCE, STAMP],
    ),
  );
  return new Map(rows.map(({ ref, stamp }) => [ref, stamp]));
}

/** Which of these refs the engine of a tenant has from elsewhere, also where it can't process them. */
export async function readOwn(
  pool: Pick<EnginePool, 'query'>,
  tenantId: string,
  refs: string[],
): Promise<Set<string>> {
  const owners = await unlessWithoutTables(
    ownersOf(pool, tenantId, { refs, sourceKey: SHARES_SOURCE }).then(found => [
      ...found,
    ]),
  );
  return new Set(
    owners.flatMap(([ref, owner]) => (owner === 'other' ? [ref] : [])),
  );
}

async function unlessWithoutTables<T>(read: Promise<T[]>): Promise<T[]> {
  try {
    return await read;
  } catch (error) {
    if (saysTablesAreGone(error)) {
      return [];
    }
    throw error;
  }
}
