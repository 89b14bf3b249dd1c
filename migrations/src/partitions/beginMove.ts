import type { StepContext } from '../engine/Step';
import { endEarlierCommands } from './leftovers';
import { findPartitions, refuseOtherReferences, requireTenant } from './Tenant';
import type { Partitions, Tenant } from './Tenant';

/** Whose rows a command is about, and the partitions that they are in, if any. */
export interface TenantPartitions {
  tenant: Tenant;
  partitions: Partitions | undefined;
}

/**
 * Finds out what a command has to do, and ends what an earlier one has left.
 *
 * @param direction - a preparation of the same tenant is gone on with by the command
 *   that gives it partitions
 * @throws {@link RefusedError} if the tenant can have none, or others would suffer
 */
export async function beginMove(
  context: StepContext,
  slug: string,
  direction: 'give' | 'takeBack',
): Promise<TenantPartitions> {
  const tenant = await requireTenant(context, slug);
  await refuseOtherReferences(context.executor);
  await endEarlierCommands(context, direction === 'give' ? tenant : undefined);
  return { tenant, partitions: await findPartitions(context.executor, tenant) };
}
