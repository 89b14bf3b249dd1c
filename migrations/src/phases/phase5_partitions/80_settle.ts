import { setTimeout as pause } from 'node:timers/promises';
import { dropFence, SESSIONS_BEFORE_SWAP } from '../../copy/fence';
import type { Step, StepContext } from '../../engine/Step';
import { ADMIN_ROLE } from '../../schema/roles';
import { TENANT_TABLES } from '../../schema/tables';

const POLL_MS = 200;

/** The fence is needed while there are transactions from before the swap. */
export const settled: Step = {
  name: '5_80_settle',
  title: 'Wait for transactions from before the swap',
  up: settle,
  async down() {},
};

/**
 * Waits for the transactions from before the last swap, and drops the fence.
 *
 * A login that may not see the snapshots of others' sessions cannot tell when they
 * are gone: the fence then stays until the cleanup. It costs next to nothing.
 */
export async function settle(context: StepContext): Promise<void> {
  const { executor, reporter } = context;
  const [{ visible }] = await executor.read<{ visible: boolean }>(
    "select pg_has_role(current_user, 'pg_read_all_stats', 'usage') as visible",
  );
  if (!visible) {
    reporter.warn(
      `${ADMIN_ROLE} may not see the transactions of other logins, so that the ` +
        'tables keep looking at their age until the cleanup. To end it earlier, ' +
        `let a superuser run "grant pg_read_all_stats to ${ADMIN_ROLE}" before ` +
        'phase 5.',
    );
    return;
  }
  await waitForOldTransactions(context);
  await executor.transaction({
    title: 'Let transactions in without a look at their age',
    locks: 'ACCESS EXCLUSIVE on each table, for a change of the catalog.',
    tables: TENANT_TABLES,
    statements: dropFence,
  });
}

async function waitForOldTransactions({
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
}
