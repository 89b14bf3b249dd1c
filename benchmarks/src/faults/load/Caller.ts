import { setTimeout as delay } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import { SERVICE_TOKEN } from '../constants';
import { type Reply, toReply } from './Reply';
import type { Tally } from './Tally';

/** What a client asks a backend. */
export interface CallerRequest {
  method: 'GET' | 'POST';
  path: string;
  /** Whose entities are asked for. */
  tenant?: string;
  body?: object;
  /** Which statuses are an answer beside those of a success. */
  also?: number[];
}

/**
 * For how long a client waits after a refusal. It is shorter than what the refusal asks
 * for, so that it is seen how soon it would do.
 */
export const RETRY_MS = 20;

// Nobody is to wait for longer, whatever happens.
const LONGEST_ANSWER_MS = 15_000;

/** Sends the requests of one client, and counts what becomes of them. */
export class Caller {
  constructor(
    private readonly http: Dispatcher,
    private readonly id: number,
    private readonly tally: Tally,
  ) {}

  /** @throws `WrongAnswerError`, or if there is no answer at all */
  async ask({
    method,
    path,
    tenant,
    body,
    also,
  }: CallerRequest): Promise<Reply> {
    const response = await this.http.request({
      method,
      path,
      headersTimeout: LONGEST_ANSWER_MS,
      bodyTimeout: LONGEST_ANSWER_MS,
      headers: {
        authorization: `Bearer ${SERVICE_TOKEN}`,
        ...(tenant && { 'x-tenant-slug': tenant }),
        ...(body && { 'content-type': 'application/json' }),
      },
      body: body && JSON.stringify(body),
    });
    const retryAfter = response.headers['retry-after'];
    const reply = toReply(
      {
        status: response.statusCode,
        retryAfter: retryAfter?.toString(),
        body: await response.body.text(),
      },
      also,
    );
    if (reply.answered) {
      this.tally.countAnswer(this.id);
      return reply;
    }
    this.tally.countRefusal(reply.status);
    await delay(RETRY_MS);
    return reply;
  }
}
