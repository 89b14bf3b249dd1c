import { failure, ok } from '../PreflightCheck';
import type { PreflightCheck, PreflightContext } from '../PreflightCheck';

/** A backup, for what no undo can repair. */
export const backup: PreflightCheck = {
  name: 'backup',
  scope: 'server',
  async run(context) {
    if (context.options.backupCompleted) {
      return [ok('A completed backup is confirmed.')];
    }
    if (!(await holdsRows(context))) {
      return [ok('The tables have no rows yet.')];
    }
    return [
      failure('A completed backup is not confirmed.', {
        advice:
          'Back up the database, see that it can be restored, and give --backup-completed.',
      }),
    ];
  },
};

async function holdsRows({
  executor,
  facts,
}: PreflightContext): Promise<boolean> {
  for (const { sql, readable } of facts.tables) {
    // The login may not look: assume that there are rows.
    if (!readable) {
      return true;
    }
    const [{ found }] = await executor.read<{ found: boolean }>(
      `select exists (select from ${sql}) as found`,
    );
    if (found) {
      return true;
    }
  }
  return false;
}
