import type { LoggerService } from '@backstage/backend-plugin-api';
import {
  OtherOperatorError,
  readAdoption,
  retryFaults,
} from 'backstage-catalog-tenancy-migrations';
import type { CatalogDatabase } from './CatalogDatabase';

/**
 * Tries again what could not be carried over, where anything could not, and says how
 * much of it could be this time.
 */
export async function retryKeptAside(
  database: CatalogDatabase,
  logger: LoggerService,
): Promise<void> {
  const before = await readAdoption(database);
  if (!before.adopted || before.faults === 0) {
    return;
  }
  try {
    const { faults } = await retryFaults(database);
    const carried = before.faults - faults;
    if (carried > 0) {
      logger.info(
        `${carried} of ${before.faults} rows of the catalog's engine that could not be ` +
          'carried over to the default tenant are there now',
      );
    }
  } catch (error) {
    // The next time will do.
    if (!(error instanceof OtherOperatorError)) {
      throw error;
    }
  }
}
