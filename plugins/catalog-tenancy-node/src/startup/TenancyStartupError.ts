import { CustomErrorBase } from '@backstage/errors';

/**
 * The backend does not serve the catalogs of tenants with the database as it is.
 * The message says what was found, and what to do about it.
 */
export class TenancyStartupError extends CustomErrorBase {
  /** Tells the error apart once it is serialized. */
  name = 'TenancyStartupError' as const;
}
