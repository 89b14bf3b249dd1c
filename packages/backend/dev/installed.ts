// Which versions an installation has taken, in how many copies.

import assert from 'assert';
import { lstat, readdir, readFile } from 'fs/promises';
import { join } from 'path';

/** The version of each copy of a package, whichever package manager has put it there. */
export type Installed = Map<string, string[]>;

/** @param root - of a repository, with its workspaces in `packages` and `plugins` */
export async function readInstalled(root: string): Promise<Installed> {
  const found: Installed = new Map();
  const visit = async (folder: string): Promise<void> => {
    const modules = join(folder, 'node_modules');
    for (const name of await packageNames(modules)) {
      const copy = join(modules, name);
      if ((await lstat(copy)).isSymbolicLink()) {
        continue;
      }
      const manifest = await readFile(join(copy, 'package.json'), 'utf8').catch(
        () => undefined,
      );
      if (manifest) {
        const { version } = JSON.parse(manifest);
        const copies = found.get(name) ?? [];
        copies.push(version);
        found.set(name, copies);
      }
      await visit(copy);
    }
  };
  await visit(root);
  for (const group of ['packages', 'plugins']) {
    for (const name of await namesIn(join(root, group))) {
      await visit(join(root, group, name));
    }
  }
  return found;
}

async function packageNames(modules: string): Promise<string[]> {
  const names = (await namesIn(modules)).filter(name => !name.startsWith('.'));
  const all = await Promise.all(
    names.map(async name =>
      name.startsWith('@')
        ? (await namesIn(join(modules, name))).map(each => `${name}/${each}`)
        : [name],
    ),
  );
  return all.flat();
}

/** None, where there is no such folder. */
async function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}

/** The versions of a package, such as `1.12.0`, or `1.10.1 (2 copies), 1.12.0`. */
export function versionsOf(installed: Installed, name: string): string {
  const versions = installed.get(name) ?? [];
  return (
    [...new Set(versions)]
      .sort()
      .map(version => {
        const copies = versions.filter(each => each === version).length;
        return copies > 1 ? `${version} (${copies} copies)` : version;
      })
      .join(', ') || 'none'
  );
}

/** @throws AssertionError with the names and versions of those that are not there once */
export function assertSingle(installed: Installed, names: string[]): void {
  const wrong = [...new Set(names)]
    .filter(name => installed.get(name)?.length !== 1)
    .map(name => `${name}: ${versionsOf(installed, name)}`);
  assert.deepStrictEqual(wrong, [], 'These packages must be there once');
}
