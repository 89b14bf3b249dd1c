import { CustomErrorBase } from '@backstage/errors';

/**
 * Why the catalogs of tenants are not served.
 *
 * @public
 */
export type NotReadyReason = 'database-away' | 'not-migrated' | 'refused';

/**
 * The backend does not serve the catalogs of tenants with the database as it is.
 * The message says what was found, and what to do about it.
 */
export class TenancyStartupError extends CustomErrorBase {
  /** Tells the error apart once it is serialized. */
  name = 'TenancyStartupError' as const;

  /** @param reason - what probes are told of it */
  constructor(message: string, readonly reason: NotReadyReason = 'refused') {
    super(message);
  }
}
