import type { JsonObject, JsonValue } from '@backstage/types';
import { someSize } from './generatedEntities';
import type { Random } from '@internal/postgres/testUtils';
import type { Vocabulary } from './Vocabulary';

/** The parameters `filter` of a request, if any. */
export function filterParameters(
  random: Random,
  words: Vocabulary,
): string[] | undefined {
  if (random.chance(0.3)) {
    return undefined;
  }
  return Array.from({ length: random.pick([1, 1, 1, 2, 3]) }, () =>
    Array.from({ length: random.pick([1, 1, 2, 3]) }, () =>
      condition(random, words),
    ).join(random.pick([',', ', ', ' , ,'])),
  );
}

function condition(random: Random, words: Vocabulary): string {
  // Half of them are of one term, so that they find something.
  const { key, value, original } = words.term(random);
  switch (random.below(10)) {
    case 0:
      return words.key(random);
    case 1:
      return `${words.key(random)}=`;
    case 2:
      return `${words.key(random)}=${words.value(random)}`;
    case 3:
      return `${key}=${value},${key}=${words.value(random)}`;
    case 4:
    case 5:
      return `kind=${random.pick(['component', 'API', 'user', 'Group'])}`;
    case 6:
      return `${key.toUpperCase()} = ${original}`;
    case 7:
      return key;
    default:
      return `${key}=${original}`;
  }
}

/** The predicate of a body; now and then one that has no meaning. */
export function predicate(
  random: Random,
  words: Vocabulary,
  depth = 3,
): JsonObject {
  const inner = () => predicate(random, words, depth - 1);
  const list = () =>
    Array.from({ length: random.pick([0, 1, 2, 2, 3]) }, () => inner());
  if (depth > 0 && random.chance(0.5)) {
    switch (random.below(3)) {
      case 0:
        return { $all: list() };
      case 1:
        return { $any: list() };
      default:
        return { $not: inner() };
    }
  }
  return Object.fromEntries(
    Array.from({ length: random.pick([0, 1, 1, 1, 1, 2]) }, () =>
      field(random, words),
    ),
  );
}

function field(random: Random, words: Vocabulary): [string, JsonValue] {
  const { key, value, original } = words.term(random);
  switch (random.below(12)) {
    case 0:
      return [words.key(random), { $exists: random.chance(0.5) }];
    case 1:
      return [words.key(random), words.value(random)];
    case 2:
      return [key, { $in: [original ?? 1, words.value(random), true, 7] }];
    case 3:
      return [key, { $in: [] }];
    case 4:
      return [key, { $hasPrefix: (original ?? '').slice(0, random.below(5)) }];
    case 5:
      return [words.key(random), { $hasPrefix: words.fragment(random) }];
    case 6:
      return [key, { $contains: original ?? false }];
    case 7:
      return ['relations', { $contains: relation(random, words) }];
    case 8:
      return ['kind', random.pick(['component', 'API', 'user', 'Group'])];
    case 9:
      return random.chance(0.2)
        ? [words.key(random), nonsense(random)]
        : [key, original ?? ''];
    case 10:
      return random.chance(0.5)
        ? ['spec.size', someSize(random)]
        : ['spec.size', { $in: [someSize(random), someSize(random)] }];
    default:
      return [key.toUpperCase(), value ?? ''];
  }
}

function relation(random: Random, words: Vocabulary): JsonValue {
  const type = random.pick(['ownedBy', 'OWNEDBY', 'dependsOn', 'providesApi']);
  switch (random.below(6)) {
    case 0:
      return { type };
    case 1:
      return {
        type,
        targetRef: { $in: [words.ref(random), words.ref(random)] },
      };
    case 2:
      return { Type: type, TARGETREF: words.ref(random).toUpperCase() };
    case 3:
      return random.pick<JsonValue>([
        { targetRef: 'a:b/c' },
        { type, other: 'x' },
        { type: { $in: ['ownedBy'] } },
        { type, targetRef: { $in: [] } },
        { type, targetRef: { $exists: true } },
        { type, Type: type },
        {},
      ]);
    default:
      return { type, targetRef: words.ref(random) };
  }
}

/** No value of a predicate. */
function nonsense(random: Random): JsonValue {
  return random.pick<JsonValue>([
    null,
    [],
    ['a'],
    {},
    { $foo: 1 },
    { $in: 'a' },
    { $in: [null] },
    { $exists: 'yes' },
    { $hasPrefix: 1 },
    { $contains: null },
    { $contains: { a: 'b' } },
    { $not: { a: 'b' } },
    { a: { b: 'c' } },
  ]);
}
