import { type Config, readDurationFromConfig } from '@backstage/config';
import { InputError } from '@backstage/errors';
import {
  durationToMilliseconds,
  type JsonObject,
  type JsonValue,
} from '@backstage/types';
import { configDuration } from 'backstage-plugin-catalog-tenancy-node';
import { objectOf, valuesIn } from './objects';
import { pathOf } from './operatorConfig';

const DAY_MS = 24 * 60 * 60 * 1000;
/** The longest interval: PostgreSQL has no date in a million years. */
const MAX_INTERVAL_MS = 365 * DAY_MS;

/**
 * Checks that a tenant's engine works no more often than the operator allows.
 *
 * @throws InputError that names the property and the expected form
 */
export function checkIntervals(
  config: JsonObject,
  minIntervalMs: number,
): void {
  const { processingInterval, providers } = (config.catalog ??
    {}) as JsonObject;
  if (processingInterval !== undefined) {
    checkDuration(
      processingInterval,
      'catalog.processingInterval',
      minIntervalMs,
    );
  }
  // Schedules of providers, and every other value under a name like theirs.
  for (const [path, value] of valuesIn(providers, ['catalog', 'providers'])) {
    const name = String(path.at(-1));
    if (name === 'frequency' && value !== undefined) {
      checkFrequency(value, pathOf(path), minIntervalMs);
    } else if (/^interval$|[a-z]Interval$/.test(name) && isDuration(value)) {
      checkDuration(value, pathOf(path), minIntervalMs);
    }
  }
}

function isDuration(value: JsonValue | undefined): value is JsonValue {
  return typeof value === 'string' || (!!value && typeof value === 'object');
}

/** A crontab expression would have to be run for years to know how often it is due. */
function checkFrequency(
  value: JsonValue,
  path: string,
  minIntervalMs: number,
): void {
  const { cron, trigger } = objectOf(value);
  if (cron !== undefined) {
    throw new InputError(
      `${path}.cron: only the operator may configure a crontab expression. Expected a duration in its place, such as { "minutes": 15 }`,
    );
  }
  if (trigger !== 'manual') {
    checkDuration(value, path, minIntervalMs);
  }
}

function checkDuration(
  value: JsonValue,
  path: string,
  minIntervalMs: number,
): void {
  const { data } = configDuration().safeParse(value);
  if (!data) {
    throw new InputError(
      `${path}: expected a duration such as { "minutes": 15 } or "15m"`,
    );
  }
  const duration = durationToMilliseconds(data);
  // Also refuses NaN.
  if (!(duration >= minIntervalMs)) {
    throw new InputError(
      `${path}: expected at least ${
        minIntervalMs / 1000
      } seconds between two runs`,
    );
  }
  if (!(duration <= MAX_INTERVAL_MS)) {
    throw new InputError(`${path}: expected at most a year`);
  }
}

/** The interval at which an engine with this configuration processes an item again, if it does. */
export function processingIntervalMs(config: Config): number | undefined {
  const key = 'catalog.processingInterval';
  try {
    return durationToMilliseconds(readDurationFromConfig(config, { key }));
  } catch {
    // Switched off.
    return undefined;
  }
}
