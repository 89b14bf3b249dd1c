import { CustomErrorBase } from '@backstage/errors';

/**
 * Why the catalogs of tenants are not served.
 *
 * @public
 */
export type NotReadyReason = 'database-away' | 'not-migrated' | 'refused';

/**
 * The backend cannot serve the catalogs of tenants with this database. The message says what is
 * wrong and what to do.
 */
export class TenancyStartupError extends CustomErrorBase {
  /** Identifies the error in serialized form. */
  name = 'TenancyStartupError' as const;

  /** @param reason - the reason for probes */
  constructor(message: string, readonly reason: NotReadyReason = 'refused') {
    super(message);
  }
}
