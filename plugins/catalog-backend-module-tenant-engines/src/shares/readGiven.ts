import { engineSchemaOf } from 'backstage-catalog-tenancy-migrations';
import { escapeIdentifier } from 'pg';
import { STAMP } from '../code/stamp';
import type { EnginePool } from '../work/EnginePool';
import { SHARES_SOURCE } from './copies';

/** What PostgreSQL says where a tenant has no tables yet. */
const UNDEFINED_TABLE = '42P01';

/**
 * The stamps of the copies that the provider of a tenant's engine has, by ref: also of those that
 * the engine has not processed yet. The engine need not run.
 */
export async function readGiven(
  pool: Pick<EnginePool, 'query'>,
  tenantId: string,
): Promise<Map<string, string>> {
  const schema = escapeIdentifier(engineSchemaOf(tenantId));
  try {
    const rows = await pool.query<{ ref: string; stamp: string }>(
      `select s.entity_ref as ref,
              s.unprocessed_entity::jsonb #>> array['metadata', 'annotations', $2] as stamp
         from ${schema}.refresh_state_references r
         join ${schema}.refresh_state s on s.entity_ref = r.target_entity_ref
        where r.source_key = $1`,
      [SHARES_SOURCE, STAMP],
    );
    return new Map(rows.map(({ ref, stamp }) => [ref, stamp]));
  } catch (error) {
    if ((error as { code?: string }).code === UNDEFINED_TABLE) {
      return new Map();
    }
    throw error;
  }
}
