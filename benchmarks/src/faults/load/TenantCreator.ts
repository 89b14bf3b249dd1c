import { setTimeout as delay } from 'node:timers/promises';
import type { Caller } from './Caller';
import type { Client } from './clients';
import { outcomeOf } from './EntityWriter';
import { WrongAnswerError } from './Reply';

// Tenants are not made by the thousand.
const PAUSE_MS = 20;

/** Creates tenants, and looks whether each is there. */
export class TenantCreator implements Client {
  readonly #prefix: string;
  #number = 0;

  /** @param prefix - tells its tenants from those of others */
  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  async step(caller: Caller): Promise<void> {
    await delay(PAUSE_MS);
    this.#number += 1;
    const slug = `${this.#prefix}-${this.#number}`;
    const path = '/api/tenants';
    const outcome = outcomeOf(
      await caller.ask({
        method: 'POST',
        path,
        body: { tenant_slug: slug, tenant_name: slug },
      }),
    );
    const found = await caller.ask({
      method: 'GET',
      path: `${path}/${slug}`,
      also: [404],
    });
    if (found.answered && outcome !== 'unknown') {
      const there = found.status === 200;
      if (there !== (outcome === 'made')) {
        throw new WrongAnswerError(
          `The tenant ${slug} was ${outcome}, and is ${
            there ? '' : 'not '
          }there`,
        );
      }
    }
  }
}
