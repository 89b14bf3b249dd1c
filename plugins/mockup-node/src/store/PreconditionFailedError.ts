import { CustomErrorBase } from '@backstage/errors';

/**
 * The mockup is no longer in the state that the caller based its write on. Over
 * HTTP it becomes status 412.
 *
 * @public
 */
export class PreconditionFailedError extends CustomErrorBase {
  /** Identifies the error in serialized form. */
  name = 'PreconditionFailedError' as const;
  /** The status that Backstage answers with. */
  readonly statusCode = 412;
}
