import type { LoggerService } from '@backstage/backend-plugin-api';
import { realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

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
  /** The version of the copy that engines load. */
  version: string;
  /** The version of the backend's copy, if that is a different one. */
  otherVersion: string | null;
}

/** The newest releases of Backstage's packages that the tests run on. */
export const NEWEST_TESTED: Record<string, string> = {
  '@backstage/plugin-catalog-backend': '4.0.5',
  '@backstage/backend-defaults': '0.19.0',
};

/**
 * The packages of the engines, as this package loads them. They must be the copies of the
 * backend: otherwise tenants run a different catalog than the default tenant.
 *
 * @param backend - the path of a file of the backend
 * @param engines - of a file of this package
 */
export function readEnginePackages(
  backend: string = require.main?.filename ??
    join(process.cwd(), 'package.json'),
  engines: string = __filename,
): SharedPackage[] {
  return SHARED.flatMap(name => {
    const ours = find(engines, name);
    if (!ours) {
      return [];
    }
    const theirs = find(backend, name) ?? ours;
    return [
      {
        name,
        version: versionOf(ours),
        otherVersion: theirs === ours ? null : versionOf(theirs),
      },
    ];
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
  for (const { name, version, otherVersion } of packages) {
    if (otherVersion !== null) {
      logger.warn(
        `The engines of tenants run with ${name} ${version}, and the backend with another copy, ` +
          `${otherVersion}. Install one copy: "yarn dedupe ${name}", or one version in "resolutions".`,
      );
    }
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

function find(from: string, name: string): string | undefined {
  try {
    return realpathSync(createRequire(from).resolve(`${name}/package.json`));
  } catch {
    return undefined;
  }
}

function versionOf(path: string): string {
  return createRequire(path)(path).version;
}
