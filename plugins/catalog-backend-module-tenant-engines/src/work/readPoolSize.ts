import type { Config } from '@backstage/config';
import { InputError } from '@backstage/errors';

/**
 * Reads the number of sessions of a pool, and how many one tenant may use.
 *
 * @param key - of the pool, such as `tenancy.engines.pool`
 * @param defaultMax - where no number of sessions is configured
 * @throws `InputError` that names the key, the value and the expected form
 */
export function readPoolSize(
  config: Config,
  key: string,
  defaultMax: number,
): { max: number; maxPerTenant?: number } {
  const max = read(config, `${key}.max`) ?? defaultMax;
  return { max, maxPerTenant: read(config, `${key}.maxPerTenant`, max) };
}

function read(config: Config, key: string, most?: number): number | undefined {
  const value = config.getOptionalNumber(key);
  if (
    value !== undefined &&
    !(Number.isInteger(value) && value >= 1 && value <= (most ?? Infinity))
  ) {
    throw new InputError(
      `The configuration ${key} is ${value}. Expected an integer from 1${
        most === undefined ? '' : ` to ${most}, the sessions of the pool`
      }.`,
    );
  }
  return value;
}
