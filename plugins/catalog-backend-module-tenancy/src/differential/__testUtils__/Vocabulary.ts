import type { EngineCatalog } from './EngineCatalog';
import type { Random } from '@internal/postgres/testUtils';

export interface Term {
  key: string;
  /** In lower case. */
  value: string | null;
  /** As it is in the entity. */
  original: string | null;
}

const USUAL_KEYS = [
  'kind',
  'metadata.name',
  'metadata.namespace',
  'metadata.title',
  'metadata.uid',
  'metadata.tags',
  'metadata.description',
  'spec.type',
  'spec.owner',
  'spec.lifecycle',
  'spec.size',
  'spec.nothing',
  'relations.ownedBy',
  'relations.dependsOn',
  'metadata.annotations.example.com/count',
  'metadata.annotations.backstage.io/orphan',
];

/** What a generated request may ask for: what is in the catalog, and what is not. */
export class Vocabulary {
  static async read(catalog: EngineCatalog): Promise<Vocabulary> {
    // Of frequent keys no more than of rare ones, and always in the same order.
    const terms = await catalog.query<Term>(
      `select key, value, original_value as original
         from (select *, row_number() over (partition by key
                                            order by md5(value)) as number
                 from (select distinct on (key, value) * from public.search
                        order by key, value, original_value) as terms
              ) as numbered
        where number <= 20 order by key, value`,
    );
    const entities = await catalog.query<{ ref: string; uid: string }>(
      `select entity_ref as ref, entity_id as uid from public.final_entities
        order by entity_ref`,
    );
    return new Vocabulary(terms, entities);
  }

  private constructor(
    private readonly terms: Term[],
    private readonly entities: Array<{ ref: string; uid: string }>,
  ) {}

  term(random: Random): Term {
    return random.pick(this.terms);
  }

  ref(random: Random): string {
    return random.chance(0.9)
      ? random.pick(this.entities).ref
      : random.pick(['component:default/nothing', 'no ref', '', 'a:b/c', ':/']);
  }

  uid(random: Random): string {
    return random.chance(0.9)
      ? random.pick(this.entities).uid
      : random.pick(['x', '7bd6b4a3-0b0c-4f0f-8a67-0d9b3c6c9f11', "'", '%00']);
  }

  /** A key in any case, of those that are often asked for or of any. */
  key(random: Random): string {
    const key = random.chance(0.5)
      ? random.pick(USUAL_KEYS)
      : this.term(random).key;
    return random.chance(0.15) ? anyCase(random, key) : key;
  }

  /** A value that something has at a key, in any case, or at another one. */
  value(random: Random): string {
    const { value, original } = this.term(random);
    const text = original ?? value ?? '';
    return random.chance(0.2) ? anyCase(random, text) : text;
  }

  /** A part of some text. */
  fragment(random: Random): string {
    const text = this.value(random);
    const start = random.below(text.length);
    const part = text.slice(start, start + 1 + random.below(6));
    return random.chance(0.15)
      ? random.pick(['%', '_', `${part}%`, `_${part}`, '\\', `${part}\\`, ' '])
      : part;
  }
}

function anyCase(random: Random, text: string): string {
  return random.chance(0.5) ? text.toUpperCase() : text.toLowerCase();
}
