import type { BackendFeature } from '@backstage/backend-plugin-api';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { KNOWN_PLUGINS } from './knownPlugins';

const BACKEND = require.main?.filename ?? join(process.cwd(), 'index.js');

/**
 * The known plugins and modules among the dependencies of a backend.
 *
 * @param backend - the path of a file of the backend
 */
export function installedPlugins(
  backend = BACKEND,
): Record<string, BackendFeature[]> {
  const dependencies = dependenciesOf(dirname(backend));
  const load = createRequire(backend);
  const found: Record<string, BackendFeature[]> = {};
  for (const { id, packages = [] } of KNOWN_PLUGINS) {
    const [plugin] = packages;
    if (dependencies.has(plugin)) {
      found[id] = packages
        .filter(name => dependencies.has(name))
        .map(name => load(name).default);
    }
  }
  return found;
}

/** The names of the packages that a backend depends on. */
export function dependenciesOf(folder = dirname(BACKEND)): ReadonlySet<string> {
  const file = join(folder, 'package.json');
  if (existsSync(file)) {
    const { dependencies = {} } = JSON.parse(readFileSync(file, 'utf8'));
    return new Set(Object.keys(dependencies));
  }
  const parent = dirname(folder);
  return parent === folder ? new Set() : dependenciesOf(parent);
}
