import type { LoggerService } from '@backstage/backend-plugin-api';
import type { TenancyPool } from '../../database';
import { TenancyStartupError } from '../TenancyStartupError';
import { readFacts } from './facts';
import { findingsOf } from './findings';
import { warningsOf } from './warnings';

/**
 * Checks that the database user can't get past what keeps tenants apart, and that
 * this is in place.
 *
 * @throws {@link TenancyStartupError} with all that is wrong, and what to do about
 * each
 */
export async function checkDatabase(
  pool: TenancyPool,
  logger: LoggerService,
): Promise<void> {
  const facts = await readFacts(pool);
  const findings = findingsOf(facts);
  if (findings.length > 0) {
    throw new TenancyStartupError(
      [
        'The database does not keep tenants apart, so their catalogs are not served:',
        ...findings.map(({ problem, remedy }) => `- ${problem}: ${remedy}.`),
      ].join('\n'),
    );
  }
  warningsOf(facts).forEach(warning => logger.warn(warning));
}
