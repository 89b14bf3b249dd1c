import { errors, type Pool } from 'undici';
import { assertPiecesTellOnlyOf, assertTellsOnlyOf } from '../checks';
import { BASE_DOMAIN } from '../constants';
import type { LoadTenant } from '../LoadTenant';
import type { Diary } from './Diary';
import { type Exchange, pickTask, type Random, type Task } from './Exchange';

/** How a client names its tenant. */
export type Naming = 'hostname' | 'header';

/** What a client has and does. */
export interface ClientOptions {
  pool: Pool;
  token: string;
  naming: Naming;
  tenant: LoadTenant;
  tasks: Task[];
  random: Random;
}

const UNAVAILABLE = 503;

/** Somebody who asks for one thing after the other, and looks at each answer. */
export class Client {
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  /** Does one task after the other, until it is over. */
  async keepAsking(diary: Diary, isOver: () => boolean): Promise<void> {
    const { tasks, tenant, random } = this.#options;
    while (!isOver()) {
      for (const step of pickTask(tasks, random).start(tenant, random)) {
        if (!(await this.ask(step(), diary))) {
          break;
        }
      }
    }
  }

  /** @returns whether the answer was right */
  async ask(exchange: Exchange, diary: Diary): Promise<boolean> {
    const { what, tenant, status = 200, check } = exchange;
    try {
      const sent = performance.now();
      const answer = await this.#send(exchange);
      const ms = performance.now() - sent;
      if (answer.status === UNAVAILABLE) {
        diary.refuse(what);
        return false;
      }
      if (answer.status !== status) {
        throw new Error(
          `status ${answer.status}, where ${status} is right: ${answer.text}`,
        );
      }
      assertTellsOnlyOf(tenant, answer.text);
      check(answer.text);
      diary.answer(what, ms);
      return true;
    } catch (error) {
      // It has a status already when its next part is refused.
      if (exchange.long && error instanceof errors.SocketError) {
        diary.refuse(what);
      } else {
        diary.fail(what, error);
      }
      return false;
    }
  }

  async #send({ method, path, tenant, body, long }: Exchange) {
    const { pool, token, naming } = this.#options;
    const response = await pool.request({
      method,
      path,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body && { 'content-type': 'application/json' }),
        ...(naming === 'hostname'
          ? { host: `${tenant.slug}.${BASE_DOMAIN}` }
          : { 'x-tenant-slug': tenant.slug }),
      },
      body: body && JSON.stringify(body),
    });
    const status = response.statusCode;
    if (long && status < 300) {
      await assertPiecesTellOnlyOf(tenant, response.body.setEncoding('utf8'));
      return { status, text: '' };
    }
    return { status, text: await response.body.text() };
  }
}
