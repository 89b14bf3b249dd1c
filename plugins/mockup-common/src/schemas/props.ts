import { isStorableText } from '@internal/http-client';
import { z } from 'zod';
import { MOCKUP_LIMITS } from '../limits';

const EXPECTED = 'an object of component properties';

/** A value to check, and its path. */
interface PendingValue {
  value: unknown;
  depth: number;
  key?: PropertyKey;
  parent?: PendingValue;
}

interface Unstorable {
  path: PropertyKey[];
  /** What was expected there. */
  expected: string;
}

/**
 * Finds values that JSONB cannot store exactly.
 *
 * It uses a work list instead of recursion: the nesting of a caller's value must
 * not decide the depth of our stack.
 */
function findUnstorable(root: unknown): Unstorable | undefined {
  const pending: PendingValue[] = [{ value: root, depth: 1 }];

  for (let next = pending.pop(); next; next = pending.pop()) {
    const { value, depth } = next;
    if (typeof value === 'string' && !isStorableText(value)) {
      return {
        path: pathOf(next),
        expected: 'a string without NUL characters and lone surrogates',
      };
    }
    // JSON.parse reads a number with a larger exponent, such as 1e400, as Infinity.
    if (typeof value === 'number' && !Number.isFinite(value)) {
      return {
        path: pathOf(next),
        expected: 'a number that a 64-bit float can hold',
      };
    }
    if (typeof value === 'object' && value !== null) {
      if (depth > MOCKUP_LIMITS.propsDepth) {
        return {
          path: [],
          expected: `${EXPECTED} nested at most ${MOCKUP_LIMITS.propsDepth} deep`,
        };
      }
      const children: Iterable<[string | number, unknown]> = Array.isArray(
        value,
      )
        ? value.entries()
        : Object.entries(value);
      for (const [key, child] of children) {
        if (typeof key === 'string' && !isStorableText(key)) {
          return {
            path: pathOf(next),
            expected:
              'an object without NUL characters and lone surrogates in its keys',
          };
        }
        // There may be half a million of these.
        if (!Number.isFinite(child)) {
          pending.push({ value: child, depth: depth + 1, key, parent: next });
        }
      }
    }
  }
  return undefined;
}

function pathOf(found: PendingValue): PropertyKey[] {
  const path: PropertyKey[] = [];
  for (
    let at: PendingValue | undefined = found;
    at?.key !== undefined;
    at = at.parent
  ) {
    path.unshift(at.key);
  }
  return path;
}

/**
 * The properties of a component: any JSON object.
 *
 * The schema passes it on unchanged. `z.record` would rebuild it key by key, and
 * lose a key such as `__proto__`.
 */
export const propsSchema = z
  .custom<Record<string, unknown>>(
    value =>
      typeof value === 'object' && value !== null && !Array.isArray(value),
    { error: EXPECTED, abort: true },
  )
  .superRefine((value, context) => {
    const unstorable = findUnstorable(value);
    if (unstorable) {
      const { path, expected } = unstorable;
      context.addIssue({ code: 'custom', path, message: expected });
    }
  })
  .meta({ type: 'object', additionalProperties: true });
