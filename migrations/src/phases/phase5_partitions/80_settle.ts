import { dropFence, SESSIONS_BEFORE_SWAP } from '../../copy/fence';
import type { Step, StepContext } from '../../engine/Step';
import { waitForOlderTransactions } from '../../engine/olderTransactions';

/** Drops the fence once no transaction is older than the swap. */
export const settled: Step = {
  name: '5_80_settle',
  title: 'Wait for transactions from before the swap',
  up: waitForSessionsBeforeSwap,
  async down() {},
};

/** Waits for the transactions from before the last swap, and drops the fence. */
export async function waitForSessionsBeforeSwap(
  context: StepContext,
): Promise<void> {
  await waitForOlderTransactions(context, {
    title: 'Wait until no transaction is older than the swap.',
    script: [],
    waiting: processes =>
      `The swap is done. Waiting for transactions from before it, of the processes ${processes}`,
    find: async () => SESSIONS_BEFORE_SWAP,
  });
  for (const transaction of dropFence) {
    await context.executor.transaction(transaction);
  }
}
