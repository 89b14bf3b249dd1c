import type { JsonObject, JsonValue } from '@backstage/types';
import * as fc from 'fast-check';

const LONG = 'x'.repeat(150);

const keys = fc.constantFrom(
  ...['type', 'a', 'b', 'a.b', 'A', 'tags', 'backstage.io/x', 'Éa', 'İd'],
  ...['ΑΣ', 'Σ', 'Straße', '', '.', LONG, '%', 'a_b', '\\', '__proto__'],
  ...['name', 'metadata', 'kind', '𝒳', '\u212A'],
);

const texts = fc.constantFrom(
  ...['service', 'Service', 'SERVICE', 'website', '', ' ', 'a', 'b', 'a.b'],
  ...['İ', 'ΑΣ', 'ΑΣΑ', 'ας', 'straße', 'STRASSE', '\u212A', 'k', 'É', 'é'],
  ...['𝒳'.repeat(100), '𝒳'.repeat(101), 'X'.repeat(200), 'X'.repeat(201)],
  ...['İ'.repeat(100), 'İ'.repeat(101), 'ÿ'.repeat(199), LONG],
  ...['100%', '100_', '100x', 'a\\b', 'a\\', "it's", '"', '{}', 'true', '1'],
  ...['1e+21', '1e21', 'null', 'group:default/Team-A', '?', '$1', '😀'],
);

const numbers = fc.oneof(
  fc.constantFrom(
    ...[0, -0, 1, -1, 1.5, 1e21, -1e21, 1e20, 1e15, 1e-6, 1e-7, 1.5e-7],
    ...[123456789012345680000, 2 ** 53, 5e-324, 1.7976931348623157e308, 0.1],
  ),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
);

const json = fc.letrec<{ value: JsonValue; object: JsonObject }>(tie => ({
  value: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    texts,
    numbers,
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 4 }),
    tie('object'),
  ),
  object: fc.dictionary(keys, tie('value'), { maxKeys: 4 }),
}));

const relations = fc.array(
  fc.record({
    type: fc.constantFrom('ownedBy', 'OwnedBy', 'dependsOn', 'ΑΣ'),
    targetRef: fc.constantFrom(
      'group:default/Team-A',
      'user:default/u',
      'İ:a/b',
    ),
  }),
  { maxLength: 3 },
);

/** Entities of every shape. */
export const entities = fc.record(
  {
    metadata: fc.record(
      {
        namespace: fc.constantFrom('default', 'Other'),
        labels: json.object,
        annotations: json.object,
        tags: fc.array(texts, { maxLength: 3 }),
        Etag: json.value,
        etag: texts,
      },
      { requiredKeys: [] },
    ),
    kind: fc.constantFrom('Component', 'API', 'Group', 'İ'),
    spec: json.value,
    relations,
    Relations: json.value,
    status: json.object,
    attachments: json.object,
    '': json.object,
    'metadata.uid': json.value,
    'a.b': json.value,
  },
  { requiredKeys: ['metadata', 'kind'] },
);
