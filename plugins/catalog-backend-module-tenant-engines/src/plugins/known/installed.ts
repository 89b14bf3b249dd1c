import type { BackendFeature } from '@backstage/backend-plugin-api';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, sep } from 'node:path';
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

/** A digest of the code of a backend, and of the packages of its workspace, whose versions stay. */
export function digestOfCode(backend = BACKEND): string {
  const load = createRequire(backend);
  const folders = [...dependenciesOf(dirname(backend))].flatMap(name => {
    try {
      const main = realpathSync(load.resolve(name));
      return main.includes(`${sep}node_modules${sep}`) ? [] : [dirname(main)];
    } catch {
      return [];
    }
  });
  // Without a main module, the folder is any in which the process was started.
  const own = require.main ? [dirname(backend)] : [];
  const hash = createHash('sha256');
  for (const folder of [...own, ...folders]) {
    for (const file of codeIn(folder)) {
      hash.update(file.slice(folder.length)).update(readFileSync(file));
    }
  }
  return hash.digest('base64url');
}

/** In an order that does not depend on the file system. */
function codeIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => name !== 'node_modules' && !name.startsWith('.'))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap(entry => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) {
        return codeIn(path);
      }
      // A link may lead nowhere.
      return entry.isFile() && /\.[cm]?[jt]sx?$/.test(entry.name) ? [path] : [];
    });
}
