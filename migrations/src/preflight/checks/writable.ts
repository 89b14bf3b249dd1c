import { escapeIdentifier } from '../../sql';
import { failure, ok } from '../Finding';
import type { PreflightCheck } from '../PreflightCheck';

/** The server takes writes: it is no standby, and nothing is read-only. */
export const writable: PreflightCheck = {
  name: 'writable',
  scope: 'server',
  async run({ executor, facts }) {
    // Not transaction_read_only: in a dry run that is our own doing.
    const [{ standby, readOnly }] = await executor.read<{
      standby: boolean;
      readOnly: boolean;
    }>(
      `select pg_is_in_recovery() as standby,
              current_setting('default_transaction_read_only')::boolean as "readOnly"`,
    );
    if (standby) {
      return [
        failure('The server is a standby, which takes no writes.', {
          advice: 'Connect to the primary server.',
        }),
      ];
    }
    if (readOnly) {
      return [
        failure('default_transaction_read_only is on for this login here.', {
          advice:
            'Turn it off where it was set: for the server, the database or the login.',
          sql:
            `alter database ${escapeIdentifier(
              facts.database,
            )} reset default_transaction_read_only;\n` +
            `alter role ${escapeIdentifier(
              facts.login,
            )} reset default_transaction_read_only;`,
        }),
      ];
    }
    return [ok('The server takes writes.')];
  },
};
