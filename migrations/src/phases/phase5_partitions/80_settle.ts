import { setTimeout as pause } from 'node:timers/promises';
import { dropFence, SESSIONS_BEFORE_SWAP } from '../../copy/fence';
import type { Step, StepContext } from '../../engine/Step';
import { TENANT_TABLES } from '../../schema/tables';

const POLL_MS = 200;

/** The fence is needed while there are transactions from before the swap. */
export const settled: Step = {
  name: '5_80_settle',
  title: 'Wait for transactions from before the swap',
  up: settle,
  async down() {},
};

/** Waits for the transactions from before the last swap, and drops the fence. */
export async function settle({
  executor,
  reporter,
}: StepContext): Promise<void> {
  await executor.work({
    title: 'Wait until no transaction is older than the swap.',
    script: [],
    async run(session) {
      let sessions = await session.query<{ pid: number }>(SESSIONS_BEFORE_SWAP);
      if (sessions.length > 0) {
        reporter.info(
          `The swap is done. Waiting for transactions from before it, of the ` +
            `processes ${sessions.map(({ pid }) => pid).join(', ')}`,
        );
      }
      while (sessions.length > 0) {
        await pause(POLL_MS);
        sessions = await session.query(SESSIONS_BEFORE_SWAP);
      }
    },
  });
  await executor.transaction({
    title: 'Let transactions in without a look at their age',
    locks: 'ACCESS EXCLUSIVE on each table, for a change of the catalog.',
    tables: TENANT_TABLES,
    statements: dropFence,
  });
}
