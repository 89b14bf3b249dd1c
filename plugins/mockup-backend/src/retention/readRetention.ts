import { type Config, readDurationFromConfig } from '@backstage/config';
import { InputError } from '@backstage/errors';
import { durationToMilliseconds } from '@backstage/types';

/** When the plugin deletes mockups and versions. */
export interface Retention {
  /** How long the trash keeps a mockup; for ever if undefined. */
  trashMs: number | undefined;
  /** How many untagged versions of a mockup stay; all if undefined. */
  versions: number | undefined;
}

const DEFAULT_TRASH_MS = durationToMilliseconds({ days: 30 });
const FOR_EVER = 'forever';

/**
 * Reads `mockup.trash.retention` and `mockup.versions.keep`.
 *
 * @throws InputError that names the key, the bad value and the expected form
 */
export function readRetention(config: Config): Retention {
  return {
    trashMs: readTrashRetention(config),
    versions: readVersionsToKeep(config),
  };
}

function readTrashRetention(config: Config): number | undefined {
  const key = 'mockup.trash.retention';
  const value = config.getOptional(key);
  if (value === undefined) {
    return DEFAULT_TRASH_MS;
  }
  if (value === FOR_EVER) {
    return undefined;
  }
  let trashMs: number;
  try {
    trashMs = durationToMilliseconds(readDurationFromConfig(config, { key }));
  } catch {
    trashMs = NaN;
  }
  if (!(trashMs > 0)) {
    throw new InputError(
      `${key} must be a duration above zero such as '30d' or { days: 30 }, or '${FOR_EVER}', ` +
        `got ${JSON.stringify(value)}`,
    );
  }
  return trashMs;
}

function readVersionsToKeep(config: Config): number | undefined {
  const key = 'mockup.versions.keep';
  const value = config.getOptional(key);
  if (value === undefined) {
    return undefined;
  }
  const versions = Number(value);
  if (
    typeof value === 'object' ||
    !(Number.isInteger(versions) && versions > 0)
  ) {
    throw new InputError(
      `${key} must be an integer above zero, got ${JSON.stringify(value)}`,
    );
  }
  return versions;
}
