// Which versions an installation has taken, in how many copies.

import { lstat, readdir, readFile } from 'fs/promises';
import { join, relative } from 'path';

/** One copy of a package. */
interface Copy {
  version: string;
  /** From the root of the installation. */
  folder: string;
}

/** All copies of each package, whichever package manager has put them there. */
export type Installed = Map<string, Copy[]>;

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
        copies.push({ version, folder: relative(root, copy) });
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

/** The versions of a package, such as `1.12.0`, or `1.12.0 and 1.10.1`. */
export function versionsOf(installed: Installed, name: string): string {
  const copies = installed.get(name) ?? [];
  return copies.map(({ version }) => version).join(' and ') || 'none';
}
