import type { Executor } from '../../engine/Executor';
import { DEFAULT_TENANT_ID } from '../../schema/tables';

/**
 * Times the application's look-up of an entity in the database, planning included.
 *
 * @returns milliseconds; undefined without an entity
 */
export async function timeLookup(
  executor: Executor,
): Promise<number | undefined> {
  const [entity] = await executor.read<{ ref: string }>(
    `select entity_ref as ref from entities
      where tenant_id = $1 and deleted_at is null limit 1`,
    [DEFAULT_TENANT_ID],
  );
  const lookUp = async () => {
    const [row] = await executor.read<{
      'QUERY PLAN': [{ 'Planning Time': number; 'Execution Time': number }];
    }>(
      `explain (analyze, format json)
       select final_entity from entities
        where tenant_id = $1 and entity_ref = $2 and deleted_at is null`,
      [DEFAULT_TENANT_ID, entity.ref],
    );
    const [plan] = row['QUERY PLAN'];
    return plan['Planning Time'] + plan['Execution Time'];
  };
  // The first one loads the definitions of the partitions.
  return entity && (await lookUp()) && lookUp();
}
