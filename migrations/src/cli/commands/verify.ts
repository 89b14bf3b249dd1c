import { assertVerified, verify as runChecks } from '../../verify/verify';
import type { CommandDefinition } from '../CommandDefinition';

/** Checks the data itself. */
export const verify: CommandDefinition = {
  name: 'verify',
  description:
    'Check on the data itself everything that must hold after the phases that are complete.',
  details:
    'It changes nothing and may be run while the application writes. It reads the\n' +
    'tables, so that it takes time on large ones.',
  access: 'read',
  options: [],
  async run({ migration, report }) {
    const verification = await runChecks(migration);
    report({ checks: verification.checks });
    assertVerified(verification);
    const { phase, checks } = verification;
    return checks.length === 0
      ? 'No phase is complete after which there is anything to check.'
      : [
          `All that must hold after phase ${phase} holds:`,
          ...checks.map(({ name }) => `  ${name}`),
        ].join('\n');
  },
};
