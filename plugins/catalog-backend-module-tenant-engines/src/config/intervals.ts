import { type Config, readDurationFromConfig } from '@backstage/config';
import { InputError } from '@backstage/errors';
import {
  durationToMilliseconds,
  type JsonObject,
  type JsonValue,
} from '@backstage/types';
import { configDuration } from 'backstage-plugin-catalog-tenancy-node';
import { CronTime } from 'cron';
import { pathOf } from './operatorConfig';

const DAY_MS = 24 * 60 * 60 * 1000;
/** The longest interval: PostgreSQL has no date in a million years. */
const MAX_INTERVAL_MS = 365 * DAY_MS;
/** How many runs of a crontab expression are compared: enough for all minutes of an hour. */
const CRON_RUNS = 64;
/** Each costs some 50 ms, the first time. */
const MAX_CRONS = 100;

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
  visit(providers, ['catalog', 'providers'], {
    minIntervalMs,
    crons: 0,
    shortest: new Map(),
  });
}

interface Limits {
  minIntervalMs: number;
  /** The number of crontab expressions checked so far. */
  crons: number;
  /** The cached results: several providers often have the same expression. */
  shortest: Map<JsonValue, number | undefined>;
}

/** Schedules of providers, and every other value under a name like theirs. */
function visit(
  value: JsonValue | undefined,
  path: PropertyKey[],
  limits: Limits,
): void {
  if (Array.isArray(value)) {
    value.forEach((item, i) => visit(item, [...path, i], limits));
    return;
  }
  if (value === undefined || value === null || typeof value !== 'object') {
    return;
  }
  for (const [key, item] of Object.entries(value)) {
    const at = [...path, key];
    if (key === 'frequency' && item !== undefined) {
      checkFrequency(item, pathOf(at), limits);
    } else if (/^interval$|[a-z]Interval$/.test(key) && isDuration(item)) {
      checkDuration(item, pathOf(at), limits.minIntervalMs);
    } else {
      visit(item, at, limits);
    }
  }
}

function isDuration(value: JsonValue | undefined): value is JsonValue {
  return typeof value === 'string' || (!!value && typeof value === 'object');
}

function checkFrequency(value: JsonValue, path: string, limits: Limits): void {
  const { minIntervalMs } = limits;
  const frequency = (typeof value === 'object' ? value : {}) as JsonObject;
  if (frequency?.trigger === 'manual') {
    return;
  }
  if (frequency?.cron === undefined) {
    checkDuration(value, path, minIntervalMs);
    return;
  }
  limits.crons += 1;
  if (limits.crons > MAX_CRONS) {
    throw new InputError(
      `${path}.cron: expected at most ${MAX_CRONS} crontab expressions`,
    );
  }
  if (!limits.shortest.has(frequency.cron)) {
    limits.shortest.set(frequency.cron, shortestIntervalOf(frequency.cron));
  }
  const shortest = limits.shortest.get(frequency.cron);
  if (shortest === undefined) {
    throw new InputError(`${path}.cron: expected a crontab expression`);
  }
  if (shortest < minIntervalMs) {
    throw tooShort(`${path}.cron`, minIntervalMs);
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
    throw tooShort(path, minIntervalMs);
  }
  if (!(duration <= MAX_INTERVAL_MS)) {
    throw new InputError(`${path}: expected at most a year`);
  }
}

function tooShort(path: string, minIntervalMs: number): InputError {
  return new InputError(
    `${path}: expected at least ${
      minIntervalMs / 1000
    } seconds between two runs`,
  );
}

/** @returns `undefined` for an invalid crontab expression, or one that is never due */
function shortestIntervalOf(expression: JsonValue): number | undefined {
  if (typeof expression !== 'string') {
    return undefined;
  }
  const runs: number[] = [];
  try {
    const cron = new CronTime(expression, 'UTC');
    for (let last = new Date(); runs.length < CRON_RUNS; ) {
      last = cron.getNextDateFrom(last, 'UTC').toJSDate();
      runs.push(last.getTime());
    }
  } catch {
    // It looks eight years ahead: a task that runs once in that time costs nothing.
    if (runs.length === 0) {
      return undefined;
    }
  }
  return Math.min(...runs.slice(1).map((run, i) => run - runs[i]));
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
