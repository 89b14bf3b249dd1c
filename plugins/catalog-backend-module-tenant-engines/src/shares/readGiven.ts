import { engineSchemaOf } from 'backstage-catalog-tenancy-migrations';
import { ANNOTATION_SHARE } from 'backstage-plugin-catalog-tenancy-node';
import { escapeIdentifier } from 'pg';
import { STAMP } from '../code/stamp';
import { saysTablesAreGone } from '../engine/failures';
import type { EnginePool } from '../work/EnginePool';
import { ownersOf } from '../work/ownersOf';
import { SHARES_SOURCE } from './copies';

/** A copy that the provider of a tenant's engine has. */
export interface GivenCopy {
  stamp: string;
  shareId: string;
}

/**
 * The copies that the provider of a tenant's engine has, by ref: also those that the engine has not
 * processed yet. The engine need not run.
 */
export async function readGiven(
  pool: Pick<EnginePool, 'query'>,
  tenantId: string,
): Promise<Map<string, GivenCopy>> {
  const name = engineSchemaOf(tenantId);
  const schema = escapeIdentifier(name);
  const rows = await unlessWithoutTables(
    pool.query<{ ref: string } & GivenCopy>(
      `select s.entity_ref as ref, a ->> $2 as stamp, a ->> $3 as "shareId"
         from ${schema}.refresh_state_references r
         join ${schema}.refresh_state s on s.entity_ref = r.target_entity_ref
        cross join lateral (
              select s.unprocessed_entity::jsonb #> '{metadata,annotations}' as a) annotations
        where r.source_key = $1`,
      [SHARES_SOURCE, STAMP, ANNOTATION_SHARE],
      name,
    ),
    [],
  );
  return new Map(rows.map(({ ref, ...copy }) => [ref, copy]));
}

/**
 * Which of these refs the engine of a tenant has as copies, and which from elsewhere, also where it
 * can't process them.
 */
export function readOwners(
  pool: Pick<EnginePool, 'query'>,
  tenantId: string,
  refs: string[],
): ReturnType<typeof ownersOf> {
  return unlessWithoutTables(
    ownersOf(pool, tenantId, { refs, sourceKey: SHARES_SOURCE }),
    new Map(),
  );
}

async function unlessWithoutTables<T>(read: Promise<T>, nothing: T) {
  try {
    return await read;
  } catch (error) {
    if (saysTablesAreGone(error)) {
      return nothing;
    }
    throw error;
  }
}
