import type { BenchmarkContext } from '../harness/Benchmark';
import { tenantIdOf } from './entities';
import { type Databases, LAYOUT_NAMES, LAYOUTS } from './layouts';
import { openPool } from './sides';
import { countOf } from './sizes';

/** How many locks a look-up of one entity holds, with the predicate and without. */
export async function describeLocks(
  { connection }: BenchmarkContext,
  databases: Databases,
  tenants: number,
): Promise<string> {
  const counts: string[] = [];
  for (const layout of LAYOUTS) {
    const pool = openPool({
      ...{ connection, connections: 1, database: databases[layout] },
    });
    const tenantId = tenantIdOf(tenants);
    const countWith = (predicate: object) =>
      pool.transaction({ tenantId }, async ({ knex, query }) => {
        await query(
          knex('entities')
            .where({ entity_ref: 'component:default/any', ...predicate })
            .select('final_entity'),
        );
        const [{ count }] = await query<{ count: number }>(
          knex.raw(
            `select count(*)::int as count from pg_locks
              where pid = pg_backend_pid() and locktype = 'relation'
                and relation::regclass::text like 'entities%'`,
          ),
        );
        return count;
      });
    try {
      counts.push(
        `in ${LAYOUT_NAMES[layout]} ${await countWith({
          tenant_id: tenantId,
        })}, by the policy alone ${await countWith({})}`,
      );
    } finally {
      await pool.close();
    }
  }
  return `Locks of a look-up, ${countOf(tenants)}: ${counts.join('; ')}`;
}
