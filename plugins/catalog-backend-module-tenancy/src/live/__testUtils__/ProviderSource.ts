import { change, type Draft, draft, spoil } from './drafts';
import type { LiveCatalog } from './LiveCatalog';
import { deferred, type ProviderName } from './LiveEngine';
import type { Random } from '@internal/postgres/testUtils';
import type { Source } from './sources';

interface Provided {
  readonly draft: Draft;
  readonly locationKey: string;
}

/**
 * An entity provider: adds, changes and removes entities, moves them between
 * location keys, and now and then has one that cannot be carried over.
 */
export class ProviderSource implements Source {
  private provided = new Map<string, Provided>();
  private count = 0;

  constructor(
    private readonly catalog: LiveCatalog,
    private readonly random: Random,
    readonly name: ProviderName,
    private readonly size: number,
  ) {}

  drafts(): Draft[] {
    return [...this.provided.values()].map(each => each.draft);
  }

  /** One mutation, with everything or with what is different. */
  async act(): Promise<void> {
    const { random } = this;
    const before = this.provided;
    const after = new Map(before);
    for (let changes = 1 + random.below(4); changes > 0; changes -= 1) {
      this.changeOne(after);
    }
    if (this.name === 'whole') {
      await this.catalog.engine.apply('whole', {
        type: 'full',
        entities: [...after.values()].map(toDeferred),
      });
    } else {
      await this.catalog.engine.apply('parts', {
        type: 'delta',
        added: [...after.values()]
          .filter(each => before.get(each.draft.ref) !== each)
          .map(toDeferred),
        removed: [...before.values()]
          .filter(each => !after.has(each.draft.ref))
          .map(toDeferred),
      });
    }
    this.provided = after;
  }

  private changeOne(provided: Map<string, Provided>): void {
    const { random } = this;
    const one = random.pick([...provided.values()]);
    const put = (next: Draft, locationKey = one.locationKey) =>
      provided.set(next.ref, { draft: next, locationKey });
    if (!one || provided.size < random.below(2 * this.size)) {
      this.count += 1;
      put(draft(random, `${this.name}-${this.count}`), this.anyLocationKey());
    } else if (!one.draft.convertible) {
      put(change(random, one.draft));
    } else if (random.chance(0.1)) {
      put(spoil(random, one.draft));
    } else if (random.chance(0.3)) {
      provided.delete(one.draft.ref);
    } else if (random.chance(0.3)) {
      put(one.draft, this.anyLocationKey());
    } else {
      put(change(random, one.draft));
    }
  }

  private anyLocationKey(): string {
    return `${this.name}-${this.random.pick(['x', 'y', 'z'])}`;
  }
}

function toDeferred({ draft: { entity }, locationKey }: Provided) {
  return deferred(entity, locationKey);
}
