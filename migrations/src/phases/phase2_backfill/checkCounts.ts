import { VerificationError } from '../../errors';
import type { StepContext } from '../../engine/Step';
import type { Executor } from '../../engine/Executor';
import { ENTITY_KEY, TENANT_TABLES } from '../../schema/tables';
import type { TenantTable } from '../../schema/tables';
import { formatCount, formatThings } from '../../text';

/**
 * The check of the specification: as many rows as rows with a tenant.
 *
 * @throws {@link VerificationError} which says how many rows have none
 */
export async function checkCounts({ executor }: StepContext): Promise<void> {
  await executor.work({
    title: 'Every row must have a tenant.',
    script: [],
    async run() {
      for (const table of TENANT_TABLES) {
        await checkCount(executor, table);
      }
    },
  });
}

async function checkCount(
  executor: Executor,
  table: TenantTable,
): Promise<void> {
  const [{ rows, missing }] = await executor.read<{
    rows: number;
    missing: number;
  }>(
    `select count(*)::float8 as rows,
            (count(*) - count(tenant_id))::float8 as missing from ${table}`,
  );
  if (missing > 0) {
    const key = ENTITY_KEY[table];
    const [example] = await executor.read<{ id: string }>(
      `select ${key} as id from ${table} where tenant_id is null limit 1`,
    );
    throw new VerificationError(
      `${formatCount(missing)} of the ${formatThings(
        rows,
        'row',
      )} of ${table} ` +
        `${missing === 1 ? 'has' : 'have'} no tenant, such as the one ` +
        `with ${key} = ${example?.id}. Disable what reverts an ` +
        'update of it, and run the phase again.',
    );
  }
}
