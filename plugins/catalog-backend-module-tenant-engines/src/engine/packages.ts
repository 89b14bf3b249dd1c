import type { LoggerService } from '@backstage/backend-plugin-api';

/** The packages of Backstage that both the engines of tenants and the backend load. */
const SHARED = [
  '@backstage/plugin-catalog-backend',
  '@backstage/plugin-catalog-node',
  '@backstage/plugin-events-node',
  '@backstage/backend-app-api',
  '@backstage/backend-defaults',
  '@backstage/backend-plugin-api',
];

/**
 * A package of Backstage that engines run with.
 */
export interface SharedPackage {
  /** Its name on npm. */
  name: string;
  version: string;
}

/** The newest releases of Backstage's packages that the tests run on. */
export const NEWEST_TESTED: Record<string, string> = {
  '@backstage/plugin-catalog-backend': '4.0.5',
  '@backstage/backend-defaults': '0.19.0',
};

/** The packages of the engines, as this package loads them. */
export function readEnginePackages(): SharedPackage[] {
  return SHARED.flatMap(name => {
    try {
      const { version } = require(`${name}/package.json`);
      return [{ name, version }];
    } catch {
      return [];
    }
  });
}

/**
 * Logs the packages of the engines once, at the start, and warns of versions that are not
 * tested.
 */
export function logPackages(
  packages: SharedPackage[],
  logger: LoggerService,
): void {
  const versions = packages.map(({ name, version }) => `${name} ${version}`);
  logger.info(`The engines of tenants run with ${versions.join(', ')}`);
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
