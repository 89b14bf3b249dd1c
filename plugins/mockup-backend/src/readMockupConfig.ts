import type { Config } from '@backstage/config';
import { durationToMilliseconds } from '@backstage/types';
import {
  configDuration,
  configInteger,
  configKeys,
  parseConfig,
} from 'backstage-plugin-catalog-tenancy-node';
import { z } from 'zod';
import type { Config as Schema } from '../config';
import type { ImportBounds } from './http/request/mockupFile';

/** When the plugin deletes mockups and versions. */
export interface Retention {
  /** How long the trash keeps a mockup; for ever if undefined. */
  trashMs: number | undefined;
  /** How many untagged versions of a mockup stay; all if undefined. */
  versions: number | undefined;
}

const FOR_EVER = 'forever';
const RETENTION = `a duration above zero, of at most 1000 years, such as '30d' or { days: 30 }, or '${FOR_EVER}'`;
/** PostgreSQL has no time that is 7000 years ago, and JavaScript none in 300,000 years. */
const LONGEST_MS = durationToMilliseconds({ years: 1000 });

const MOCKUP = configKeys({
  // By the pages.
  frames: configKeys({ hosts: z.unknown().optional() }).optional(),
  import: configKeys({
    maxBytes: configInteger(1).default(32 * 1024 * 1024),
    maxVersions: configInteger(1).default(50_000),
  }).prefault({}),
  trash: configKeys({
    retention: z
      .union([z.literal(FOR_EVER), configDuration(RETENTION)], RETENTION)
      .refine(
        time =>
          time === FOR_EVER ||
          (durationToMilliseconds(time) > 0 &&
            durationToMilliseconds(time) <= LONGEST_MS),
        RETENTION,
      )
      .default({ days: 30 }),
  }).prefault({}),
  versions: configKeys({ keep: configInteger(1).optional() }).prefault({}),
} satisfies Record<keyof NonNullable<Schema['mockup']>, z.ZodType>);

/**
 * Reads the configuration of the plugin.
 *
 * @throws InputError that names the key, the bad value and the expected form
 */
export function readMockupConfig(config: Config): {
  importBounds: ImportBounds;
  retention: Retention;
} {
  const mockup = parseConfig(config, 'mockup', MOCKUP);
  const { retention } = mockup.trash;
  return {
    importBounds: mockup.import,
    retention: {
      trashMs:
        retention === FOR_EVER ? undefined : durationToMilliseconds(retention),
      versions: mockup.versions.keep,
    },
  };
}
