import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The paths of the files of a repository, from its root, but for what is installed or built. Not
 * by git: a copy of the repository has its tests, too.
 */
export function repositoryFiles(root: string, folder: string = ''): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap(
    entry => {
      const path = join(folder, entry.name);
      if (!entry.isDirectory()) {
        return [path];
      }
      return /^(\.|node_modules$|dist|coverage$)/.test(entry.name)
        ? []
        : repositoryFiles(root, path);
    },
  );
}
