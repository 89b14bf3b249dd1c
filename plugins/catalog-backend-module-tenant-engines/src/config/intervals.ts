import { type Config, readDurationFromConfig } from '@backstage/config';
import { InputError } from '@backstage/errors';
import {
  durationToMilliseconds,
  type JsonObject,
  type JsonValue,
} from '@backstage/types';
import { configDuration } from 'backstage-plugin-catalog-tenancy-node';
import { CronTime } from 'cron';
import { setImmediate } from 'node:timers/promises';
import { valuesIn } from './objects';
import { pathOf } from './operatorConfig';

const DAY_MS = 24 * 60 * 60 * 1000;
/** The longest interval: PostgreSQL has no date in a million years. */
const MAX_INTERVAL_MS = 365 * DAY_MS;
/** How many runs of a crontab expression are compared: enough for all minutes of an hour. */
const CRON_RUNS = 64;
/** For how long runs are compared, where they are rare: expressions repeat each year. */
const CRON_SPAN_MS = 400 * DAY_MS;
/** Each takes up to some 200 ms of the thread, in slices. */
const MAX_CRONS = 20;
/** The shortest intervals of crontab expressions are kept, up to this number of them. */
const MOST_KEPT = 1_000;
const shortestIntervals = new Map<string, Promise<number | undefined>>();

/**
 * Checks that a tenant's engine works no more often than the operator allows.
 *
 * @throws InputError that names the property and the expected form
 */
export async function checkIntervals(
  config: JsonObject,
  minIntervalMs: number,
): Promise<void> {
  const { processingInterval, providers } = (config.catalog ??
    {}) as JsonObject;
  if (processingInterval !== undefined) {
    checkDuration(
      processingInterval,
      'catalog.processingInterval',
      minIntervalMs,
    );
  }
  const limits: Limits = { minIntervalMs, crons: new Map() };
  // Schedules of providers, and every other value under a name like theirs.
  for (const [path, value] of valuesIn(providers, ['catalog', 'providers'])) {
    const name = String(path.at(-1));
    if (name === 'frequency' && value !== undefined) {
      checkFrequency(value, pathOf(path), limits);
    } else if (/^interval$|[a-z]Interval$/.test(name) && isDuration(value)) {
      checkDuration(value, pathOf(path), minIntervalMs);
    }
  }
  for (const [expression, path] of limits.crons) {
    const shortest = await shortestIntervalOf(expression);
    if (shortest === undefined) {
      throw new InputError(`${path}: expected a crontab expression`);
    }
    if (shortest < minIntervalMs) {
      throw tooShort(path, minIntervalMs);
    }
  }
}

interface Limits {
  minIntervalMs: number;
  /** The crontab expressions found so far, with the path of the first that has them. */
  crons: Map<JsonValue, string>;
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
  if (limits.crons.has(frequency.cron)) {
    return;
  }
  if (limits.crons.size === MAX_CRONS) {
    throw new InputError(
      `${path}.cron: expected at most ${MAX_CRONS} different crontab expressions`,
    );
  }
  limits.crons.set(frequency.cron, `${path}.cron`);
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
async function shortestIntervalOf(
  expression: JsonValue,
): Promise<number | undefined> {
  if (typeof expression !== 'string') {
    return undefined;
  }
  if (shortestIntervals.size >= MOST_KEPT) {
    shortestIntervals.clear();
  }
  const known = shortestIntervals.get(expression);
  const shortest = known ?? shortestBetweenRuns(expression);
  shortestIntervals.set(expression, shortest);
  return shortest;
}

async function shortestBetweenRuns(
  expression: string,
): Promise<number | undefined> {
  const runs: number[] = [];
  const isEnough = () =>
    runs.length === CRON_RUNS ||
    (runs.length > 1 && runs.at(-1)! - runs[0] > CRON_SPAN_MS);
  try {
    const cron = new CronTime(expression, 'UTC');
    for (let last = new Date(); !isEnough(); ) {
      // Each may take milliseconds of the thread.
      await setImmediate();
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
