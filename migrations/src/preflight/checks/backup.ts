import { failure, ok } from '../Finding';
import type { PreflightCheck, PreflightContext } from '../PreflightCheck';

/** There is a way back from what no undo can mend. */
export const backup: PreflightCheck = {
  name: 'backup',
  scope: 'server',
  async run(context) {
    if (context.options.backupCompleted) {
      return [ok('A completed backup is confirmed.')];
    }
    if (!(await holdsRows(context))) {
      return [
        ok(
          'The tables to migrate have no rows yet that a backup would have to hold.',
        ),
      ];
    }
    return [
      failure('Nobody has confirmed that a backup is complete.', {
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
    // Where the login may not look, rows have to be reckoned with.
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
