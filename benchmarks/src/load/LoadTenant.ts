import type { Entity } from '@backstage/catalog-model';
import { createEntity } from '../catalog/entities';
import {
  changingEntities,
  CHANGING,
  markOf,
  movingRef,
  stableEntity,
} from './entities';

/** Which mutations an answer may show. */
export interface Revisions {
  /** Acknowledged before the request was sent. */
  oldest: number;
  /** Sent before the answer came. */
  newest(): number;
}

/** A tenant as its clients know it: what it must have, and which changes were made. */
export class LoadTenant {
  readonly slug: string;
  /** How many of its entities never change. */
  readonly stable: number;
  #sent = 0;
  #acknowledged = 0;

  constructor(slug: string, stable: number) {
    this.slug = slug;
    this.stable = stable;
  }

  get mark(): string {
    return markOf(this.slug);
  }

  /** How many entities it has at any time: a mutation adds as many as it removes. */
  get total(): number {
    return this.stable + CHANGING + 1;
  }

  /** Those of its entities that never change and are of a kind. */
  countOf(kind: string): number {
    return [...Array(this.stable).keys()].filter(
      number => createEntity(number).entity.kind === kind,
    ).length;
  }

  /** What it has to begin with. */
  initialEntities(): Entity[] {
    return [
      ...changingEntities(this.slug, 0),
      ...Array.from({ length: this.stable }, (_, number) =>
        stableEntity(this.slug, number),
      ),
    ];
  }

  /** Whether nobody knows, by now or at all, what became of the last change. */
  get isChanging(): boolean {
    return this.#sent !== this.#acknowledged;
  }

  /** The next change. The one before must have been acknowledged. */
  beginChange(): { revision: number; added: Entity[]; removed: string } {
    if (this.isChanging) {
      throw new Error(`A change of ${this.slug} is under way already`);
    }
    this.#sent += 1;
    return {
      revision: this.#sent,
      added: changingEntities(this.slug, this.#sent),
      removed: movingRef(this.#sent - 1),
    };
  }

  /** A change is known to be made: whoever asks from now on must see it. */
  acknowledge(revision: number): void {
    this.#acknowledged = revision;
  }

  /** What a request that is sent now may see. */
  visible(): Revisions {
    return { oldest: this.#acknowledged, newest: () => this.#sent };
  }
}
