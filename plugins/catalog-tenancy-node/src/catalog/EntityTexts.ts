import { LRUCache } from 'lru-cache';

/** A row of {@link selectEntitiesByRefs}. */
export interface EntityTextRow {
  entity_ref: string;
  /** The text, a line break and the version; null if the version was given as known. */
  content: string | null;
}

interface KeptText {
  version: string;
  json: string;
}

/**
 * SQL that names the content of a row `e` of `entities`, in one tenant.
 *
 * PostgreSQL gives each version of a row another place or transaction, whichever program wrote
 * it. Their numbers may come again after four billion transactions, or on a server that has
 * lost its last ones. The hash, which the engine makes of the content, then still differs. The
 * ref is in it because VACUUM FULL moves rows of one transaction into each other's places.
 */
export const VERSION = `concat_ws(' ', e.entity_ref, e.ctid, e.xmin, e.hash)`;

const MOST_BYTES = 64 * 1024 * 1024;

/** V8 takes two bytes for each character of a text with characters outside of Latin-1. */
const BYTES_OF_CHARACTER = 2;

/** About what a kept text takes beside its characters: key, version and objects. */
const BYTES_BESIDE = 600;

/**
 * The texts of entities that this process has read lately, so that PostgreSQL need not unpack,
 * write and send them again.
 *
 * Not a cache of answers: PostgreSQL says for each read which rows the tenant has, and names
 * their versions. A text is used for its own version and tenant only.
 */
export class EntityTexts {
  readonly #texts: LRUCache<string, KeptText>;

  constructor(options: { maxBytes?: number } = {}) {
    this.#texts = new LRUCache({
      maxSize: options.maxBytes ?? MOST_BYTES,
      sizeCalculation: ({ json }) =>
        json.length * BYTES_OF_CHARACTER + BYTES_BESIDE,
    });
  }

  /** The kept texts of these refs. */
  of(tenantId: string, refs: readonly string[]): Map<string, KeptText> {
    const kept = new Map<string, KeptText>();
    for (const ref of refs) {
      const text = this.#texts.get(keyOf(tenantId, ref));
      if (text) {
        kept.set(ref, text);
      }
    }
    return kept;
  }

  /**
   * The text of a row, and keeps a new one.
   *
   * @param kept - the texts whose versions were given as known
   */
  textOf(
    tenantId: string,
    { entity_ref: ref, content }: EntityTextRow,
    kept: ReadonlyMap<string, KeptText>,
  ): string {
    if (content === null) {
      const text = kept.get(ref);
      if (!text) {
        throw new Error('The database returned no text of an entity');
      }
      return text.json;
    }
    // The text of a jsonb has no line breaks.
    const end = content.indexOf('\n');
    const json = content.slice(0, end);
    this.#texts.set(keyOf(tenantId, ref), {
      version: content.slice(end + 1),
      json,
    });
    return json;
  }
}

function keyOf(tenantId: string, entityRef: string): string {
  return `${tenantId} ${entityRef}`;
}
