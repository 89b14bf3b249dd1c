import type { Entity } from '@backstage/catalog-model';

/**
 * A change to the entities of a tenant.
 *
 * The entities are final: as they are read again, with their `relations`. The store
 * gives them their `metadata.uid` and `metadata.etag`. They consist of what JSON has:
 * a number that is not finite, such as the Infinity that `1e400` is read as, a Date or
 * a Map is refused by its path. A property that is undefined is left out.
 *
 * @public
 */
export type CatalogMutation =
  | {
      /** The source has exactly these entities: its others are deleted. */
      type: 'full';
      /** All that the source has; each ref once. */
      entities: Entity[];
      /**
       * Who owns the entities, such as the name of an entity provider. Without one
       * nobody does, and the mutation is about the entities that nobody owns. Those
       * can be taken by any source; deleted ones too, for they belong to nobody.
       */
      source?: string;
    }
  | {
      /** Some entities of the source have changed; all others stay as they are. */
      type: 'delta';
      /** What is new or has changed; each ref once. */
      added: Entity[];
      /** What is not there, or is deleted already, is left alone. */
      removed: Array<{ entityRef: string }>;
      /** As in a full mutation. */
      source?: string;
    };

/**
 * How many entities a mutation concerned.
 *
 * @public
 */
export interface MutationResult {
  /** Not there before. */
  inserted: number;
  /** Live before, with another content. */
  updated: number;
  /** Deleted before, and live again. */
  revived: number;
  /** Left as they were, for nothing in them has changed. */
  unchanged: number;
  /** Live before; marked as deleted, and kept until a purge. */
  deleted: number;
}
