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
 * @throws `InputError` that names the unknown key and the known ones
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
      throw new InputError(
        `The configuration ${key}.${name} is unknown. Expected one of: ${Object.keys(
          known,
        ).join(', ')}.`,
      );
    }
    const knownBelow = known[name];
    if (knownBelow !== true) {
      refuseUnknownKeys(below, `${key}.${name}`, knownBelow);
    }
  }
}
