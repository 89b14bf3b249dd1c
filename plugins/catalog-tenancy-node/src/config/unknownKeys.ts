import { InputError } from '@backstage/errors';

/**
 * The known keys of a part of the configuration, as a tree; `true` for a leaf, or for a key
 * whose content another reader checks.
 *
 * @public
 */
export interface KnownKeys {
  /** The name of a key. */
  readonly [key: string]: KnownKeys | true;
}

/**
 * The keys of a part of a `config.d.ts`. With `satisfies`, the compiler refuses a list with
 * missing or additional keys.
 *
 * @public
 */
export type KeysOf<T> = {
  readonly [Key in keyof T]-?: [
    Extract<T[Key], string | number | boolean | readonly unknown[]>,
  ] extends [never]
    ? string extends keyof NonNullable<T[Key]>
      ? true
      : KeysOf<NonNullable<T[Key]>>
    :
        | true
        | KeysOf<
            Exclude<
              NonNullable<T[Key]>,
              string | number | boolean | readonly unknown[]
            >
          >;
};

/**
 * Refuses unknown keys: Backstage would ignore a misspelt one.
 *
 * @param value - the configuration at `key`
 * @param key - such as `tenancy`
 * @throws `InputError` that names the unknown key and the nearest known one
 * @public
 */
export function refuseUnknownKeys(
  value: unknown,
  key: string,
  known: KnownKeys,
): void {
  // The reader of the key reports the expected form.
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return;
  }
  for (const [name, below] of Object.entries(value)) {
    if (!Object.hasOwn(known, name)) {
      const nearest = nearestOf(name, Object.keys(known));
      throw new InputError(
        `The configuration ${key}.${name} is unknown: the nearest known key is ${key}.${nearest}. Rename or remove it.`,
      );
    }
    const knownBelow = known[name];
    if (knownBelow !== true) {
      refuseUnknownKeys(below, `${key}.${name}`, knownBelow);
    }
  }
}

function nearestOf(name: string, candidates: string[]): string {
  const distances = candidates.map(candidate => editDistance(name, candidate));
  return candidates[distances.indexOf(Math.min(...distances))];
}

/** The Levenshtein distance. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, i) => i);
  for (const [i, character] of [...from].entries()) {
    const next = [i + 1];
    for (let j = 0; j < to.length; j += 1) {
      const replaced = row[j] + (character === to[j] ? 0 : 1);
      next.push(Math.min(replaced, row[j + 1] + 1, next[j] + 1));
    }
    row = next;
  }
  return row[to.length];
}
