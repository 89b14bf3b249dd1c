import type { LoggerService } from '@backstage/backend-plugin-api';
import type { AdoptionStatus } from 'backstage-catalog-tenancy-migrations';
import { operatorCommand } from 'backstage-catalog-tenancy-migrations';

/** Says how many rows of the engine can't be shown to the default tenant. */
export function warnOfFaults(
  { faults }: AdoptionStatus,
  logger: LoggerService,
): void {
  if (faults > 0) {
    logger.warn(
      `${faults} ${
        faults === 1 ? 'row' : 'rows'
      } of the catalog's engine could not ` +
        'be carried over to the default tenant, and the entities of those are not ' +
        `shown there. "${operatorCommand('status')}" lists them with the ` +
        'reasons. They are tried again with each change of them, every few minutes by the ' +
        `backend, and by "${operatorCommand('adopt')}".`,
    );
  }
}
