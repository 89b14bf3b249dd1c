import type { PermissionsService } from '@backstage/backend-plugin-api';
import type { Request } from 'express';

type AuthorizeConditional = PermissionsService['authorizeConditional'];
type Decisions = ReturnType<AuthorizeConditional>;

interface Question {
  /** Of what is under way. */
  answer: Decisions;
  /** Of what is asked once that has been answered. */
  next?: Decisions;
}

const BEARER = /^Bearer[ ]+(\S+)$/i;

/**
 * What users may read, asked for once for all requests that a user sends at the same time,
 * as a page does. To ask is two calls over HTTP and several signatures, which cost more
 * than most reads.
 *
 * It is a queue of one, not a cache: a request that comes while the same question is under
 * way waits for its end, and shares the next answer with all others that wait. So
 * the permission backend always decides after the request came.
 */
export class SharedDecisions {
  readonly #asked = new Map<string, Question>();
  readonly #permissions: Pick<PermissionsService, 'authorizeConditional'>;

  constructor(permissions: Pick<PermissionsService, 'authorizeConditional'>) {
    this.#permissions = permissions;
  }

  /** How many different questions are under way. */
  get size(): number {
    return this.#asked.size;
  }

  /** The permissions of who sends a request of a tenant. */
  of(
    req: Pick<Request, 'headers'>,
    tenantId: string,
  ): Pick<PermissionsService, 'authorizeConditional'> {
    return {
      authorizeConditional: (queries, options) => {
        const ask = () =>
          this.#permissions.authorizeConditional(queries, options);
        const principal: unknown =
          options && 'credentials' in options
            ? options.credentials.principal
            : undefined;
        const token = BEARER.exec(req.headers.authorization ?? '')?.[1];
        // Services get their answer without a call.
        return token !== undefined && isUser(principal)
          ? this.#share(
              // With who it is: credentials may come from elsewhere than this header.
              JSON.stringify([tenantId, token, principal, queries]),
              ask,
            )
          : ask();
      },
    };
  }

  #share(key: string, ask: () => Decisions): Decisions {
    const question = this.#asked.get(key);
    if (!question) {
      return this.#ask(key, ask);
    }
    const again = () => this.#ask(key, ask);
    question.next ??= question.answer.then(again, again);
    return question.next;
  }

  #ask(key: string, ask: () => Decisions): Decisions {
    // It rejects where `ask` throws, or the question would be under way for ever.
    const answer: Decisions = new Promise(resolve => resolve(ask()));
    const question: Question = { answer };
    this.#asked.set(key, question);
    // Called before the next one is asked, which takes its place.
    const settle = () => {
      if (!question.next) {
        this.#asked.delete(key);
      }
    };
    answer.then(settle, settle);
    return answer;
  }
}

function isUser(principal: unknown): boolean {
  return (principal as { type?: unknown } | undefined)?.type === 'user';
}
