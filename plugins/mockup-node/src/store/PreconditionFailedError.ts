import { CustomErrorBase } from '@backstage/errors';

/**
 * A write was refused because what it would have changed is no longer in the
 * state that the caller based it on. Over HTTP it becomes status 412.
 *
 * @public
 */
export class PreconditionFailedError extends CustomErrorBase {
  /** Tells the error apart once it is serialized. */
  name = 'PreconditionFailedError' as const;
  /** The status that Backstage answers with. */
  readonly statusCode = 412;
}
