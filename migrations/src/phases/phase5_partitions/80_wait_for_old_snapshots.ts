import { dropFence } from '../../copy/fence';
import type { Step, StepContext } from '../../engine/Step';
import { waitForOlderSnapshots } from '../../engine/olderTransactions';

/** Drops the fence once no snapshot is older than the swap. */
export const oldSnapshots: Step = {
  name: '5_80_wait_for_old_snapshots',
  title: 'Wait for snapshots from before the swap',
  live: true,
  up: waitForSnapshotsBeforeSwap,
};

/** Waits for the snapshots from before the last swap, and drops the fence. */
export async function waitForSnapshotsBeforeSwap(
  context: StepContext,
): Promise<void> {
  await waitForOlderSnapshots(context, 'they are from before the swap');
  for (const transaction of dropFence) {
    await context.executor.transaction(transaction);
  }
}
