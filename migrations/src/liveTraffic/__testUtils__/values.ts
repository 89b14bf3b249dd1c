import type { Random } from '@internal/postgres/testUtils';

// Values that a copy which takes a detour over another type or another notation
// would change.

const AWKWARD_JSON = [
  '{"n": 1e400}',
  '{"n": -1e-400, "m": -0}',
  '{"tenth": 0.1, "also": 0.10, "one": 1.0}',
  '{"long": 12345678901234567890.123456789012345678901234567890}',
  '{"": {"": [null, [], {}, ""]}}',
  '{"twice": 1, "twice": 2}',
  '{"text": "\\"\\\\ \\n\\t \\u00e9 \\ud83d\\ude00 \\\\N \\\\."}',
  '{"text": "é ß 漢字 😀 ‮ \u00a0"}',
  '{"$1": "%s %L ${x} {scope} \'quoted\' ;--"}',
  'null',
  '"only a text"',
  '17.50',
  '[]',
];

const AWKWARD_NAMES = [
  'plain',
  'é漢😀',
  'it\'s "quoted"',
  'back\\slash',
  '100%_of',
  'Upper And Spaces',
];

const TIMES = [
  '2024-02-29T12:34:56.789012Z',
  '1970-01-01T00:00:00+14:00',
  '0044-03-15 12:00:00 BC',
  '9999-12-31T23:59:59.999999Z',
  'infinity',
];

const WEIGHTS = [null, '0', '0.10', '-9999.99', 'NaN', '1.005', '12.3'];

/** JSON as its sender wrote it, which jsonb writes differently. */
export function anyJson(random: Random): string {
  const kind = random.below(10);
  if (kind === 0) {
    return `${'[{"deep":'.repeat(200)}0.50${'}]'.repeat(200)}`;
  }
  if (kind === 1) {
    // Too long for the row itself, and random, so that it can't be compressed.
    return `{"kind": "Component", "noise": "${random.hex(14_400)}"}`;
  }
  if (kind === 2) {
    return `{"kind": "API", "definition": "${'openapi: 3 '.repeat(2000)}"}`;
  }
  return random.chance(0.5)
    ? random.pick(AWKWARD_JSON)
    : `{"kind": "Component", "metadata": {"name": "${random.uuid()}", ` +
        `"annotations": ${random.pick(AWKWARD_JSON)}, "n": ${random.next()}}}`;
}

export function anyName(random: Random): string {
  return random.pick(AWKWARD_NAMES);
}

export function anyTime(random: Random): string {
  return random.chance(0.3)
    ? random.pick(TIMES)
    : new Date(1.6e12 + random.below(1e11)).toISOString();
}

export function anyWeight(random: Random): string | null {
  return random.pick(WEIGHTS);
}
