import { z } from 'zod';
import { MOCKUP_LIMITS } from '../limits';
import { isStorableText } from './text';

const EXPECTED = 'an object of component properties';

/** A value that is still to be looked at, and where it stands. */
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
 * Finds what cannot be kept as JSONB exactly as it is.
 *
 * It walks with a list of its own instead of recursing: the nesting of a value
 * that a caller sent must not decide how deep our stack gets.
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
    // A number with a larger exponent, such as 1e400, is read as Infinity.
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
      for (const [key, child] of Object.entries(value)) {
        if (!isStorableText(key)) {
          return {
            path: pathOf(next),
            expected:
              'an object without NUL characters and lone surrogates in its keys',
          };
        }
        pending.push({
          value: child,
          depth: depth + 1,
          key: Array.isArray(value) ? Number(key) : key,
          parent: next,
        });
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
 * It is handed on as it came instead of being rebuilt key by key as `z.record`
 * does, which would lose a key such as `__proto__`.
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
