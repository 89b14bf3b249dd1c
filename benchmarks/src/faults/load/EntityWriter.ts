import type { Entity } from '@backstage/catalog-model';
import { TENANT_MARK, VERSION_MARK } from '../constants';
import type { MutationRequest } from '../servers/control';
import type { Caller } from './Caller';
import type { Client } from './clients';
import { Possibilities } from './Possibilities';
import { expectSame, type Reply, WrongAnswerError } from './Reply';

/**
 * Writes two entities of a tenant in one change, again and again, and reads them after
 * each: a change is made as a whole or not at all, one that was answered stays, and one
 * that was refused was made only if it was said that it may have been.
 */
export class EntityWriter implements Client {
  readonly #tenant: string;
  readonly #names: string[];
  readonly #source: string;
  readonly #stored = new Possibilities(0);

  constructor(tenant: string, id: string) {
    this.#tenant = tenant;
    this.#source = `writer-${id}`;
    this.#names = [`${this.#source}-a`, `${this.#source}-b`];
  }

  async step(caller: Caller): Promise<void> {
    const body: MutationRequest = {
      tenant: this.#tenant,
      mutation: {
        type: 'full',
        source: this.#source,
        entities: this.#names.map(name => this.#entity(name)),
      },
    };
    const path = '/api/benchmark/mutations';
    const reply = await caller.ask({ method: 'POST', path, body });
    this.#stored.changed(outcomeOf(reply));
    await this.#readBack(caller);
  }

  async #readBack(caller: Caller): Promise<void> {
    const reply = await caller.ask({
      method: 'POST',
      path: '/api/catalog/entities/by-refs',
      tenant: this.#tenant,
      body: { entityRefs: this.#names.map(name => `resource:default/${name}`) },
    });
    if (!reply.answered) {
      return;
    }
    const { items } = reply.body as { items: Array<Entity | null> };
    const [a, b] = items.map(versionOf);
    expectSame('The version of the second of two entities', b, a);
    const expected = String(this.#stored);
    if (!this.#stored.seen(a)) {
      throw new WrongAnswerError(
        `Version ${a} is stored, where ${expected} is right`,
      );
    }
    for (const item of items) {
      if (item) {
        const mark = item.metadata.annotations?.[TENANT_MARK];
        expectSame('A tenant', mark, this.#tenant);
      }
    }
  }

  #entity(name: string): Entity {
    return {
      apiVersion: 'backstage.io/v1alpha1',
      kind: 'Resource',
      metadata: {
        name,
        namespace: 'default',
        annotations: {
          [TENANT_MARK]: this.#tenant,
          [VERSION_MARK]: String(this.#stored.next),
        },
      },
      spec: { type: 'database', owner: 'team-a' },
    };
  }
}

/** What a client knows of a change by the reply to it. */
export function outcomeOf(reply: Reply): 'made' | 'not made' | 'unknown' {
  if (reply.answered) {
    return 'made';
  }
  return reply.outcomeUnknown ? 'unknown' : 'not made';
}

function versionOf(entity: Entity | null): number {
  return Number(entity?.metadata.annotations?.[VERSION_MARK] ?? 0);
}
