import { isDeepStrictEqual } from 'node:util';

/** What a backend has answered to a request. */
export interface HttpAnswer {
  status: number;
  retryAfter?: string;
  body: string;
}

/** What a client makes of an answer. */
export type Reply =
  | { answered: true; status: number; body: unknown }
  | {
      answered: false;
      status: number;
      /** A change may have been made all the same. */
      outcomeUnknown: boolean;
    };

/** An answer that must not be: it is of another tenant, or no proper refusal. */
export class WrongAnswerError extends Error {
  override name = 'WrongAnswerError';
}

const ANSWERS = [200, 201];

// Where the database is, and what it was asked, is nobody's business.
const TELLTALE = /127\.0\.0\.1|select |insert |portal_app|node_modules/i;

/**
 * Takes an answer for what it is.
 *
 * @throws {@link WrongAnswerError} for one that is neither a success nor a refusal
 * which says when to try again
 */
export function toReply(answer: HttpAnswer, also: number[] = []): Reply {
  const { status, retryAfter, body } = answer;
  if (ANSWERS.includes(status) || also.includes(status)) {
    return { answered: true, status, body: JSON.parse(body) };
  }
  if (status !== 503 || !(Number(retryAfter) > 0)) {
    throw new WrongAnswerError(
      `${status}, Retry-After ${retryAfter ?? 'absent'}: ${body.slice(0, 300)}`,
    );
  }
  const { error } = JSON.parse(body);
  if (TELLTALE.test(JSON.stringify(error))) {
    throw new WrongAnswerError(`A refusal tells too much: ${body}`);
  }
  return {
    answered: false,
    status,
    outcomeUnknown: error.outcomeUnknown === true,
  };
}

/** @throws {@link WrongAnswerError} unless both are the same */
export function expectSame(
  what: string,
  actual: unknown,
  expected: unknown,
): void {
  if (!isDeepStrictEqual(actual, expected)) {
    throw new WrongAnswerError(
      `${what} is ${excerpt(actual)}, where ${excerpt(expected)} is right`,
    );
  }
}

function excerpt(value: unknown): string {
  return String(JSON.stringify(value)).slice(0, 200);
}
