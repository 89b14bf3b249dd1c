import { engineSchemaOf } from 'backstage-catalog-tenancy-migrations';
import { escapeIdentifier } from 'pg';
import type { EnginePool } from './EnginePool';

/**
 * Which of some refs the engine of a tenant has, processed or not: from one source alone, or from
 * another one. The engine is not woken, and need not run.
 *
 * @param sourceKey - of an entity provider that sets no location keys
 */
export async function ownersOf(
  pool: Pick<EnginePool, 'query'>,
  tenantId: string,
  { refs, sourceKey }: { refs: string[]; sourceKey: string },
): Promise<Map<string, 'own' | 'other'>> {
  if (refs.length === 0) {
    return new Map();
  }
  const name = engineSchemaOf(tenantId);
  const schema = escapeIdentifier(name);
  const rows = await pool.query<{ ref: string; is_own: boolean }>(
    `select s.entity_ref as ref,
            s.location_key is null and not exists (
              select from ${schema}.refresh_state_references r
               where r.target_entity_ref = s.entity_ref
                 and r.source_key is distinct from $2) as is_own
       from ${schema}.refresh_state s where s.entity_ref = any ($1)`,
    [refs, sourceKey],
    name,
  );
  return new Map(
    rows.map(({ ref, is_own }) => [ref, is_own ? 'own' : 'other']),
  );
}
