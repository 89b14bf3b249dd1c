import {
  readRecorded,
  type RecordedRequest,
  type RecordedView,
} from '@internal/catalog-testing/recordedRequests';
import { isDeepStrictEqual } from 'node:util';
import type { CatalogServer } from '../harness/CatalogServer';
import type { Contestant } from '../harness/comparison';
import { ask, keepBusy, type LoadRequest } from '../harness/load';

/**
 * A published page with eight items that show entities, six lists, four numbers and two charts, and
 * what its components ask for.
 */
const [livePage] = readRecorded(require.resolve('./livePage.txt'));

/** What Chromium has recorded of the portal, addressed within the plugin. */
const recorded = readRecorded(require.resolve('./recorded.txt'));

/** The pages of the stock frontend, and one of ours. */
export const views = [...recorded, livePage];

/** Whether a page is one of the stock frontend. */
export function isStockPage({ what }: RecordedView): boolean {
  return what !== livePage.what;
}

/** How many requests a browser has under way to one server, by HTTP/1.1. */
const CONNECTIONS = 6;

/**
 * Each page has the token of another sign-in. One comes back after two seconds of 30 pages each,
 * when no decision for it holds any longer.
 */
const TOKENS = 64;

/** A server, and users who look at pages of it. */
export class Visitors {
  #next = 0;

  static async of(server: CatalogServer): Promise<Visitors> {
    return new Visitors(server, await server.signIn(TOKENS));
  }

  private constructor(
    readonly server: CatalogServer,
    private readonly tokens: string[],
  ) {}

  /** A contestant in serving pages to users, each with one page at a time. */
  viewing(seen: RecordedView[], users: number): Contestant {
    let next = 0;
    return {
      name: this.server.name,
      measure: seconds =>
        keepBusy(users, seconds, () => this.#view(seen[next++ % seen.length])),
    };
  }

  /** The parsed answer to one request. */
  answer(request: RecordedRequest): Promise<unknown> {
    return this.server.answer({ ...request, token: this.#nextToken() });
  }

  /** Sends what a page sends, in its order, with as many connections as a browser has. */
  async #view({ requests }: RecordedView): Promise<void> {
    const token = this.#nextToken();
    const answered = new Map<number, Promise<void>>();
    const underWay = new Set<Promise<void>>();
    for (const { step, ...request } of requests) {
      await answered.get(step - 1);
      while (underWay.size >= CONNECTIONS) {
        await Promise.race(underWay);
      }
      const sent: Promise<void> = this.#send({ ...request, token }).then(() => {
        underWay.delete(sent);
      });
      underWay.add(sent);
      const others = answered.get(step);
      answered.set(step, others ? Promise.race([others, sent]) : sent);
    }
    await Promise.all(underWay);
  }

  async #send(request: Parameters<CatalogServer['complete']>[0]) {
    const complete: LoadRequest = this.server.complete(request);
    const headers = {
      ...complete.headers,
      // As browsers do: to compress is a part of the work.
      'accept-encoding': 'gzip, deflate',
    };
    await ask(this.server.url, { ...complete, headers });
  }

  /** Of the next user. */
  #nextToken(): string {
    return this.tokens[this.#next++ % this.tokens.length];
  }
}

/**
 * Makes sure that all servers do the same work.
 *
 * @throws Error that names the request which they answer differently
 */
export async function assertSameViews([
  reference,
  ...others
]: Visitors[]): Promise<void> {
  for (const { what, requests } of views) {
    for (const request of requests) {
      const expected = await reference.answer(request);
      for (const other of others) {
        if (!isDeepStrictEqual(await other.answer(request), expected)) {
          throw new Error(
            `${what}: "${other.server.name}" and "${reference.server.name}" ` +
              `answer ${request.method} ${request.path} differently`,
          );
        }
      }
    }
  }
}
