import { existsSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const ENGINES = 'backstage-plugin-catalog-backend-module-tenant-engines';

/** What the engines of tenants load of Backstage, and the rest of a backend as well. */
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
 *
 * @public
 */
export interface SharedPackage {
  /** Its name on npm. */
  name: string;
  /** Of the copy that engines load. */
  version: string;
  /** Of the copy that the backend loads itself, if that is another one. */
  otherVersion: string | null;
}

/**
 * Reads the versions of the packages that engines and the rest of the backend load. They have
 * to be the same copies: otherwise tenants run another catalog than the default tenant.
 *
 * @param backend - the path of a file of the backend
 * @param engines - of a file of the package with the engines; found from the backend by default
 * @returns nothing where that package is not installed
 * @public
 */
export function readSharedPackages(
  backend: string,
  engines: string | undefined = find(backend, ENGINES),
): SharedPackage[] {
  return SHARED.flatMap(name => {
    const ours = engines && find(engines, name);
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

/** In the repository of a portal, or in the folder of its backend. */
export function readPackagesOfPortal(folder: string): SharedPackage[] {
  const backend = join(folder, 'packages/backend/package.json');
  return readSharedPackages(
    existsSync(backend) ? backend : join(folder, 'package.json'),
  );
}

/** The packages as text: the version of the catalog, and each that differs. */
export function renderPackages(packages: SharedPackage[]): string {
  const [catalog] = packages;
  return catalog
    ? [
        `Installed for engines here: ${catalog.name} ${catalog.version}.`,
        ...describeDifferences(packages),
      ].join('\n')
    : '';
}

/**
 * What is wrong with the packages, and what to do about it; one line for each.
 *
 * @public
 */
export function describeDifferences(packages: SharedPackage[]): string[] {
  return packages
    .filter(({ otherVersion }) => otherVersion !== null)
    .map(
      ({ name, version, otherVersion }) =>
        `The engines of tenants run with ${name} ${version}, and the backend with another copy, ` +
        `${otherVersion}. Install one copy: "yarn dedupe ${name}", or one version in "resolutions".`,
    );
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
