import { RefusedError, VerificationError } from '../../errors';
import type { Answer, HttpClient } from './HttpClient';

/** What the operator does about a status; what is not among them is a failure. */
const ADVICE: Record<number, ((client: HttpClient) => string) | undefined> = {
  401: ({ token }) =>
    token
      ? 'the application does not accept the token of MIGRATION_TOKEN. Set it to a ' +
        'bearer token that is valid now.'
      : 'the application asks for credentials. Set MIGRATION_TOKEN to a bearer token ' +
        'of somebody who may read the catalog and administer tenants.',
  403: ({ token }) =>
    `${
      token ? 'the owner of MIGRATION_TOKEN' : 'somebody without a token'
    } may not do this. Set MIGRATION_TOKEN to a bearer token of somebody who may ` +
    'read the catalog and administer tenants (tenancy.admins).',
  404: () =>
    'there is no such route. Expected a base URL to which /api/catalog and ' +
    '/api/tenants can be added, and a backend that has both.',
  503: () =>
    'the application is not ready, or does not reach its database. Look into its ' +
    'log, and run the command again.',
  429: () => 'it gets too many requests. Wait, and run the command again.',
};

/** Whether tenant resolution found no active tenant (specification, Errors). */
export function isInvalidTenant(answer: Answer): boolean {
  return (
    answer.status === 403 &&
    (parse(answer.body) as { error?: unknown } | undefined)?.error ===
      'Invalid tenant'
  );
}

/**
 * The JSON of an answer that is a success.
 *
 * @throws {@link RefusedError} if the operator has to give or set something else
 * @throws {@link VerificationError} if the application does something wrong
 */
export function jsonOf(client: HttpClient, answer: Answer): unknown {
  assertSuccess(client, answer);
  const json = parse(answer.body);
  if (json === undefined) {
    throw new VerificationError(
      `${answer.request} answered ${answer.status} with ` +
        `${answer.contentType || 'no type'} instead of JSON: "${client.excerpt(
          answer,
        )}". Is ` +
        'the base URL the address of the backend, rather than of a login page or ' +
        'the frontend?',
    );
  }
  return json;
}

/** As {@link jsonOf}, where it does not matter what a success tells. */
export function assertSuccess(client: HttpClient, answer: Answer): void {
  const { status, request, location } = answer;
  if (status >= 200 && status < 300) {
    return;
  }
  if (status >= 300 && status < 400) {
    throw new RefusedError(
      `${request} answered ${status}, a redirect to ${
        location ?? 'nowhere'
      }. ` +
        'Expected the address at which the application itself answers (--base-url).',
    );
  }
  const advice = ADVICE[status]?.(client);
  if (advice) {
    throw new RefusedError(
      `${request} answered ${status}: ${advice}${said(client, answer)}`,
    );
  }
  throw new VerificationError(
    `${request} answered ${status}. Look into the application's log.` +
      `${said(client, answer)}`,
  );
}

function said(client: HttpClient, answer: Answer): string {
  const text = client.excerpt(answer);
  return text ? ` It said: ${text}` : '';
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
