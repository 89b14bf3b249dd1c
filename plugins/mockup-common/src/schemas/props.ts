import { z } from 'zod';
import { MOCKUP_LIMITS } from '../limits';
import { isStorableText } from './text';

interface PendingValue {
  value: unknown;
  depth: number;
}

/**
 * Says why a value cannot be kept as JSONB exactly as it is, or nothing where
 * it can.
 *
 * It walks with a list of its own instead of recursing: the nesting of a value
 * that a caller sent must not decide how deep our stack gets.
 */
function findUnstorable(root: unknown): string | undefined {
  const pending: PendingValue[] = [{ value: root, depth: 1 }];

  for (let next = pending.pop(); next; next = pending.pop()) {
    const { value, depth } = next;
    if (typeof value === 'string' && !isStorableText(value)) {
      return 'without NUL characters and lone surrogates';
    }
    if (typeof value === 'number' && !Number.isFinite(value)) {
      return 'with numbers that a 64-bit float can hold';
    }
    if (typeof value === 'object' && value !== null) {
      if (depth > MOCKUP_LIMITS.propsDepth) {
        return `nested at most ${MOCKUP_LIMITS.propsDepth} deep`;
      }
      for (const [key, child] of Object.entries(value)) {
        if (!isStorableText(key)) {
          return 'without NUL characters and lone surrogates in its keys';
        }
        pending.push({ value: child, depth: depth + 1 });
      }
    }
  }
  return undefined;
}

const EXPECTED = 'an object of component properties';

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
    const problem = findUnstorable(value);
    if (problem) {
      context.addIssue({ code: 'custom', message: `${EXPECTED} ${problem}` });
    }
  })
  .meta({ type: 'object', additionalProperties: true });
