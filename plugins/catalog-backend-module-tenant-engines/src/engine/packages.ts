import type { LoggerService } from '@backstage/backend-plugin-api';
import {
  describeDifferences,
  readSharedPackages,
  type SharedPackage,
} from 'backstage-catalog-tenancy-migrations';
import { join } from 'node:path';

/** The newest releases of Backstage's packages that the tests run on. */
export const NEWEST_TESTED: Record<string, string> = {
  '@backstage/plugin-catalog-backend': '4.0.5',
  '@backstage/backend-defaults': '0.19.0',
};

/** What the engines of this process run with, by the copies that this package loads. */
export function readEnginePackages(): SharedPackage[] {
  return readSharedPackages(
    require.main?.filename ?? join(process.cwd(), 'package.json'),
    __filename,
  );
}

/** Says once, at the start, what engines run with, and what may go wrong with it. */
export function logPackages(
  packages: SharedPackage[],
  logger: LoggerService,
): void {
  const versions = packages.map(({ name, version }) => `${name} ${version}`);
  logger.info(`The engines of tenants run with ${versions.join(', ')}`);
  for (const difference of describeDifferences(packages)) {
    logger.warn(difference);
  }
  const newer = packages.filter(
    ({ name, version }) =>
      version.localeCompare(NEWEST_TESTED[name] ?? version, 'en', {
        numeric: true,
      }) > 0,
  );
  if (newer.length > 0) {
    logger.warn(
      `The engines of tenants are not tested with ${newer
        .map(
          ({ name, version }) =>
            `${name} ${version} (tested up to ${NEWEST_TESTED[name]})`,
        )
        .join(', ')}`,
    );
  }
}
