import { ResponseError, toError } from '@backstage/errors';

/** What the backend says of a failure, without what the client puts around it. */
export function messageOf(error: unknown): string {
  return error instanceof ResponseError
    ? error.cause.message
    : toError(error).message;
}

/** The status of a failed request; nothing where there was no answer. */
export function statusOf(error: unknown): number | undefined {
  return error instanceof ResponseError ? error.statusCode : undefined;
}
