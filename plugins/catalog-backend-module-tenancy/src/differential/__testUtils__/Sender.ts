import { mockCredentials } from '@backstage/backend-test-utils';
import type { CatalogBackend } from '../../__testUtils__/startCatalogBackend';
import type { Request } from './Request';

/** What an answer says. */
export interface Answer {
  status: number;
  type: string | undefined;
  link: string | undefined;
  // Compared, and looked into by tests that know what they have asked for.
  body: any;
}

/** Sends a request as one user. */
export type Send = (request: Request) => Promise<Answer>;

export function sender(
  backend: CatalogBackend,
  options: { tenant?: string; authorization?: string } = {},
): Send {
  const { tenant, authorization = mockCredentials.user.header() } = options;
  const caller = backend.as(tenant);
  return async ({ method, path, body }) => {
    const answer = await caller
      .send(method, path, body)
      .set('Authorization', authorization);
    return {
      status: answer.status,
      type: answer.get('Content-Type'),
      link: answer.get('Link'),
      body: answer.body,
    };
  };
}
