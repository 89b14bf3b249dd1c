import {
  ANNOTATION_LOCATION,
  ANNOTATION_ORIGIN_LOCATION,
  type Entity,
} from '@backstage/catalog-model';
import type { JsonObject, JsonValue } from '@backstage/types';
import type { Random } from '@internal/postgres/testUtils';

/** Fails from the second time that it is processed. */
export const FAILS = 'example.com/fails';

const LOCATION = 'url:https://example.com/catalog-info.yaml';

const TITLES = [
  'Payments',
  'İstanbul ısı IĞDIR',
  'ΣΊΣΥΦΟΣ Οδυσσεύς',
  'Straße ẞ GROẞ ﬁ',
  '日本語のタイトル',
  'العربية',
  'Ἀθῆναι ᾼ ᾳ',
  'Cafe\u0301 Café',
  '😀 👩‍👩‍👧‍👦 emoji',
  'K Å Ω (Kelvin, Ångström, Ohm)',
  "it's 100%, or _more_",
  'back\\slash "quoted" <b>&amp;</b>',
  'a,b=c;d',
  'ǅ Ǆ ǆ Ꮳ ꭳ 𐐀 𐐨',
  '   spaces   inside   ',
];

const TYPES = ['service', 'website', 'library', 'Data-Pipeline', 'ÄPP'];
const LIFECYCLES = ['production', 'Experimental', 'deprecated'];
const TAGS = ['java', 'go', 'c++', 'c#', 'rust', 'a:b', 'x-y', '1', 'true'];
const NAMESPACES = ['default', 'default', 'default', 'other', 'n'.repeat(63)];

/** The entities of a catalog, and where they come from. */
export interface GeneratedCatalog {
  /** What the entity provider hands over. */
  provided: Entity[];
  /** What is read from the target of each location. */
  emitted: Map<string, Entity[]>;
  /** What is no longer read the second time. */
  orphans: Set<Entity>;
}

class EntityMaker {
  readonly #random: Random;
  readonly #count: number;

  constructor(random: Random, count: number) {
    this.#random = random;
    this.#count = count;
  }

  make(kind: string, index: number): Entity {
    return this.#entity(kind, this.#name(kind, index), this.#spec(kind, index));
  }

  location(target: string): Entity {
    return this.#entity('Location', target, { type: 'generated', target });
  }

  #entity(kind: string, name: string, spec: JsonObject): Entity {
    const random = this.#random;
    const text = () =>
      `${random.pick(TITLES)} ${random.below(50)}`.slice(0, 60);
    const annotations: Record<string, string> = {
      [ANNOTATION_LOCATION]: LOCATION,
      [ANNOTATION_ORIGIN_LOCATION]: LOCATION,
      'example.com/count': String(random.below(20)),
    };
    if (random.chance(0.2)) {
      annotations['backstage.io/techdocs-ref'] = 'dir:.';
      annotations['example.com/Mixed.Case_Key'] = text();
    }
    if (random.chance(0.1)) {
      annotations['example.com/long'] = random.pick(TITLES).repeat(20);
    }
    if (random.chance(0.01)) {
      annotations[FAILS] = 'yes';
    }
    return JSON.parse(
      JSON.stringify({
        apiVersion:
          kind === 'Template'
            ? 'scaffolder.backstage.io/v1beta3'
            : 'backstage.io/v1alpha1',
        kind,
        metadata: {
          name,
          namespace: this.#namespaceOf(kind, name),
          title: random.chance(0.5) ? text() : undefined,
          description: random.chance(0.4)
            ? text().repeat(random.pick([1, 1, 2, 3, 4, 5, 30]))
            : undefined,
          labels: random.chance(0.4)
            ? {
                tier: String(random.below(4)),
                'example.com/Zone': random.pick(['eu', 'US', 'ap']),
              }
            : undefined,
          tags: random.chance(0.5) ? random.some(TAGS, 4) : undefined,
          links: random.chance(0.2)
            ? [
                { url: 'https://example.com/a', title: text() },
                { url: 'https://example.com/b', icon: 'docs', type: 'Doc' },
              ]
            : undefined,
          annotations,
          ...(random.chance(0.1) && { [`x${random.below(3)}`]: this.#json(3) }),
        },
        spec,
      }),
    );
  }

  #spec(kind: string, index: number): JsonObject {
    const random = this.#random;
    const owner = this.#owner();
    const type = random.pick(TYPES);
    const lifecycle = random.pick(LIFECYCLES);
    const system = this.#ref('System', 0.04);
    const extra: JsonObject = random.chance(0.3)
      ? {
          nested: this.#json(6),
          size: someSize(random),
          numbers: { 7: random.pick(TITLES), 12: random.below(5) },
        }
      : {};
    switch (kind) {
      case 'Group':
        return {
          type: 'team',
          children: [],
          ...(index > 0 && { parent: this.#ref('Group', 0.05) }),
          profile: { displayName: random.pick(TITLES) },
        };
      case 'User':
        return {
          memberOf: [this.#ref('Group', 0.05), this.#ref('Group', 0.05)],
          profile: { email: `user-${index}@example.com` },
        };
      case 'Domain':
        return { owner, ...extra };
      case 'System':
        return { owner, domain: this.#ref('Domain', 0.02), ...extra };
      case 'API':
        return {
          ...{ type: 'openapi', lifecycle, owner, system, ...extra },
          definition: 'x'.repeat(random.below(400) + 1),
        };
      case 'Resource':
        return { type, owner, system, dependsOn: this.#refs('Resource', 0.1) };
      case 'Template':
        return { type, owner, steps: [{ id: 'a', action: 'b' }], ...extra };
      default:
        return {
          ...{ type, lifecycle, owner, system, ...extra },
          providesApis: this.#refs('API', 0.12).map(ref => ref.slice(4)),
          dependsOn: this.#refs('Resource', 0.1),
          ...(random.chance(0.1) && {
            subcomponentOf: this.#ref('Component', 0.52),
          }),
        };
    }
  }

  /** A name that says of which kind and index it is, so that it can be referred to. */
  #name(kind: string, index: number): string {
    const name = `${kind}-${index}`;
    switch (index % 10) {
      case 3:
        return `${name}.${'X-y_'.repeat(30)}`.slice(0, 62).concat('z');
      case 7:
        return name.toUpperCase();
      default:
        return name.toLowerCase();
    }
  }

  /** Always the same for a name: who refers to it has to know. */
  #namespaceOf(kind: string, name: string): string | undefined {
    const number = Number(/\d+/.exec(name)?.[0] ?? 0);
    return kind === 'Component' || kind === 'API'
      ? NAMESPACES[number % NAMESPACES.length]
      : undefined;
  }

  #ref(kind: string, share: number): string {
    // Some are not there.
    const amount = Math.max(3, Math.round(this.#count * share)) + 2;
    const name = this.#name(kind, this.#random.below(amount));
    const namespace = this.#namespaceOf(kind, name) ?? 'default';
    return `${kind}:${namespace}/${name}`.toLowerCase();
  }

  #refs(kind: string, share: number): string[] {
    return Array.from({ length: this.#random.below(4) }, () =>
      this.#ref(kind, share),
    );
  }

  #owner(): string {
    return this.#random.chance(0.8)
      ? this.#ref('Group', 0.05)
      : this.#ref('User', 0.1);
  }

  /** Any JSON, down to a depth. */
  #json(depth: number): JsonValue {
    const random = this.#random;
    const primitives: JsonValue[] = [
      null,
      true,
      false,
      '',
      0,
      -1.5,
      1e21,
      123456789012345680,
      random.below(1000),
      random.pick(TITLES),
      random.pick(TITLES).repeat(15),
    ];
    if (depth === 0 || random.chance(0.3)) {
      return random.pick(primitives);
    }
    if (random.chance(0.4)) {
      return Array.from({ length: random.below(4) }, () =>
        this.#json(depth - 1),
      );
    }
    const keys = ['deep', 'flag', 'Clé', 'a.b', 'with space', 'k'.repeat(120)];
    return Object.fromEntries(
      random.some(keys, 3).map(key => [key, this.#json(depth - 1)]),
    );
  }
}

// Whole numbers are not exact beyond 2^53, and have an exponent from 1e21 on.
const LARGE_NUMBERS = [
  2 ** 53,
  2 ** 53 + 2,
  -(2 ** 53) - 4,
  123456789012345680000,
  1e21,
  1.2345678901234568e25,
];

/** What entities have as `spec.size`. */
export function someSize(random: Random): number {
  return random.chance(0.3)
    ? random.pick(LARGE_NUMBERS)
    : random.below(100) / 4;
}

/**
 * A realistic catalog of about `count` entities of every kind. Many have what is
 * hard to get right: text in many languages, names as long as they may be, values of
 * all types deep in a spec, references to what is not there.
 */
export function generateCatalog(
  random: Random,
  count: number,
): GeneratedCatalog {
  const maker = new EntityMaker(random, count);
  const provided: Entity[] = [];
  const emitted = new Map<string, Entity[]>();
  const orphans = new Set<Entity>();

  const share = (part: number) => Math.max(3, Math.round(count * part));
  const kinds: Array<[string, number]> = [
    ['Group', share(0.05)],
    ['User', share(0.1)],
    ['Domain', share(0.02)],
    ['System', share(0.04)],
    ['API', share(0.12)],
    ['Resource', share(0.1)],
    ['Template', share(0.03)],
    ['Component', share(0.52)],
  ];
  const batches = share(0.01);
  for (let index = 0; index < batches; index += 1) {
    emitted.set(`batch-${index}`, []);
  }
  for (const [kind, amount] of kinds) {
    for (let index = 0; index < amount; index += 1) {
      const entity = maker.make(kind, index);
      if (random.chance(0.3)) {
        const batch = random.below(batches);
        emitted.get(`batch-${batch}`)!.push(entity);
        if (random.chance(0.03)) {
          orphans.add(entity);
        } else if (random.chance(0.03)) {
          emitted.get(`batch-${(batch + 1) % batches}`)!.push(entity);
        }
      } else {
        provided.push(entity);
      }
    }
  }
  // Locations that are read from locations: ancestry has several generations.
  const locations = [...emitted.keys()].map((target, index) => ({
    index,
    entity: maker.location(target),
  }));
  for (const { index, entity } of locations) {
    if (index % 3 === 0) {
      provided.push(entity);
    } else {
      emitted.get(`batch-${index - 1}`)!.push(entity);
    }
  }
  return { provided, emitted, orphans };
}
