import { isDeepStrictEqual } from 'util';
import { setTimeout as delay } from 'timers/promises';
import type { Entity } from '@backstage/catalog-model';
import { mockCredentials } from '@backstage/backend-test-utils';
import { waitUntil } from '@internal/postgres/testUtils';
import { component } from '@internal/catalog-testing/entities';
import type { CatalogBackend } from '@internal/catalog-testing/startCatalogBackend';

const READERS = 6;
const SAMPLE_SIZE = 20;
const PAGE = 10;
const TENANT = 'example.com/tenant';
const VERSION = 'example.com/version';

// Shorter than any Retry-After: the backend has to stand clients that do not heed it.
const RETRY_MS = 20;

/** What a refusal must not show: addresses, SQL, database users, places in the code. */
const TELLTALE = /127\.0\.0\.1|select |insert |portal_app|node_modules/i;

/** The entities that a tenant has all the time, each of which names the tenant. */
export function sampleOf(slug: string): Entity[] {
  return Array.from({ length: SAMPLE_SIZE }, (_, number) =>
    component(`item-${number}`, {
      metadata: { name: `item-${number}`, annotations: { [TENANT]: slug } },
    }),
  );
}

type Reply = { answered: true; body: any } | { answered: false };

/**
 * Clients that read and write at a backend, each one request after the other, and check every
 * answer.
 */
export class LoadClients {
  /** Answers that are neither right nor a proper refusal. */
  readonly wrongAnswers: string[] = [];
  #refusals = 0;
  #isOver = false;
  #unanswered = new Set<number>();
  readonly #clients: Array<() => Promise<boolean>>;
  readonly #running: Promise<unknown>;
  readonly #url: string;

  static async start(
    backend: CatalogBackend,
    tenants: string[],
  ): Promise<LoadClients> {
    const ids = await Promise.all(
      tenants.map(async slug => (await backend.tenants.get(slug))!.tenant_id),
    );
    return new LoadClients(backend, tenants, ids);
  }

  private constructor(backend: CatalogBackend, slugs: string[], ids: string[]) {
    this.#url = `http://localhost:${backend.server.port()}`;
    const run = Date.now().toString(36);
    this.#clients = [
      ...Array.from({ length: READERS }, (_, index) =>
        this.#reader(slugs, index),
      ),
      ...slugs.map((slug, index) =>
        this.#writer(backend.write, slug, ids[index], `writer-${run}`),
      ),
    ];
    this.#running = Promise.all(
      this.#clients.map((step, index) => this.#keepAsking(step, index)),
    );
  }

  /** Waits until each client was answered again, and not refused. */
  async untilAllAreAnswered(): Promise<void> {
    this.#unanswered = new Set(this.#clients.keys());
    await waitUntil(
      'an answer to each client',
      () => this.#unanswered.size === 0,
    );
  }

  /** Waits until so many more requests were refused. */
  async untilRefused(count: number): Promise<void> {
    const wanted = this.#refusals + count;
    await waitUntil('clients to be refused', () => this.#refusals >= wanted);
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }

  async #keepAsking(
    step: () => Promise<boolean>,
    client: number,
  ): Promise<void> {
    while (!this.#isOver) {
      try {
        if (await step()) {
          this.#unanswered.delete(client);
        } else {
          this.#refusals += 1;
          await delay(RETRY_MS);
        }
      } catch (error) {
        this.wrongAnswers.push(String(error));
        await delay(RETRY_MS);
      }
    }
  }

  /** A page and entities by refs in turn, of another tenant each time. */
  #reader(slugs: string[], first: number): () => Promise<boolean> {
    let number = first;
    return async () => {
      number += 1;
      const tenant = slugs[number % slugs.length];
      const isPage = number % 2 === 0;
      const reply = await (isPage
        ? this.#ask({
            tenant,
            path: `by-query?filter=kind=component&limit=${PAGE}`,
          })
        : this.#ask({
            tenant,
            path: 'by-refs',
            body: { entityRefs: [`component:default/item-0`] },
          }));
      if (reply.answered) {
        const { items, totalItems = SAMPLE_SIZE } = reply.body;
        expectSame(
          'Their tenants',
          items.map(({ metadata }: Entity) => metadata.annotations?.[TENANT]),
          Array(isPage ? PAGE : 1).fill(tenant),
        );
        expectSame('The total', totalItems, SAMPLE_SIZE);
      }
      return reply.answered;
    };
  }

  /**
   * Writes two entities in one transaction, and reads both: it is made as a whole or
   * not at all, one that succeeded stays, and one that failed was made only if its error
   * said that this may be.
   */
  #writer(
    write: CatalogBackend['write'],
    tenant: string,
    tenantId: string,
    source: string,
  ): () => Promise<boolean> {
    const names = [`${source}-a`, `${source}-b`];
    let sent = 0;
    let possible = [0];
    return async () => {
      sent += 1;
      const version = sent;
      const made = await write(tenantId, {
        type: 'full',
        source,
        entities: names.map(name =>
          component(name, {
            kind: 'Resource',
            metadata: {
              name,
              annotations: { [TENANT]: tenant, [VERSION]: String(version) },
            },
          }),
        ),
      }).then(
        () => true,
        error => {
          if (error.name !== 'ServiceUnavailableError') {
            throw error;
          }
          if (error.outcomeUnknown) {
            possible.push(version);
          }
          return false;
        },
      );
      if (made) {
        possible = [version];
      }
      const reply = await this.#ask({
        tenant,
        path: 'by-refs',
        body: { entityRefs: names.map(name => `resource:default/${name}`) },
      });
      if (reply.answered) {
        const [a, b] = (reply.body.items as Array<Entity | null>).map(entity =>
          Number(entity?.metadata.annotations?.[VERSION] ?? 0),
        );
        expectSame('The version of the second of two entities', b, a);
        if (!possible.includes(a)) {
          const right = possible.join(' or ');
          possible = [a];
          throw new Error(`Version ${a} is stored, where ${right} is right`);
        }
        // One that was not there yet may still come, but none is taken back.
        possible = possible.filter(other => other >= a);
      }
      return made && reply.answered;
    };
  }

  /** @throws Error unless the answer is a success, or a 429 or 503 as it has to be */
  async #ask(request: {
    tenant: string;
    /** Within the entities of the catalog. */
    path: string;
    body?: object;
  }): Promise<Reply> {
    const { tenant, path, body } = request;
    const response = await fetch(`${this.#url}/api/catalog/entities/${path}`, {
      method: body ? 'POST' : 'GET',
      headers: {
        authorization: mockCredentials.user.header(),
        'x-tenant-slug': tenant,
        ...(body && { 'content-type': 'application/json' }),
      },
      body: body && JSON.stringify(body),
    });
    const { status } = response;
    const text = await response.text();
    if (status === 200) {
      return { answered: true, body: JSON.parse(text) };
    }
    const retryAfter = response.headers.get('retry-after');
    if (![429, 503].includes(status) || !(Number(retryAfter) > 0)) {
      throw new Error(`${status}, Retry-After ${retryAfter}: ${text}`);
    }
    if (TELLTALE.test(JSON.stringify(JSON.parse(text).error))) {
      throw new Error(`A refusal tells too much: ${text}`);
    }
    return { answered: false };
  }
}

function expectSame(what: string, actual: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(actual, expected)) {
    throw new Error(
      `${what}: ${JSON.stringify(actual)}, expected ${JSON.stringify(
        expected,
      )}`,
    );
  }
}
