import { VerificationError } from '../../errors';
import type { StepContext } from '../../engine/Step';
import type { MigrationSession } from '../../session/MigrationSession';
import { ENTITY_KEY, TENANT_TABLES } from '../../schema/tables';
import type { TenantTable } from '../../schema/tables';
import { formatCount, formatThings } from '../../text';

/**
 * The check of the specification: as many rows as rows with a tenant.
 *
 * @throws {@link VerificationError} which says how many rows have none
 */
export async function checkCounts(context: StepContext): Promise<void> {
  await context.executor.work({
    title: 'Every row must have a tenant',
    script: TENANT_TABLES.map(countRows),
    run: async session => {
      for (const table of TENANT_TABLES) {
        await checkCount(session, table);
      }
    },
  });
}

async function checkCount(
  session: MigrationSession,
  table: TenantTable,
): Promise<void> {
  const [{ rows, missing }] = await session.query<{
    rows: number;
    missing: number;
  }>(countRows(table));
  if (missing > 0) {
    const key = ENTITY_KEY[table];
    const [example] = await session.query<{ id: string }>(
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

function countRows(table: TenantTable): string {
  return `select count(*)::float8 as rows,
            (count(*) - count(tenant_id))::float8 as missing from ${table}`;
}
