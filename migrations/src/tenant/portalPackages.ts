import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

/** Where a repository of Backstage has the modules of its backend. */
const FOLDERS = ['packages/backend', '.'];

/**
 * A package of the repository in which the command runs, so that it is that of its backend.
 *
 * @returns undefined where it has none
 */
export function requireOfPortal<Package>(name: string): Package | undefined {
  for (const folder of FOLDERS) {
    try {
      return createRequire(join(resolve(folder), 'package.json'))(name);
    } catch (error) {
      if ((error as { code?: string }).code !== 'MODULE_NOT_FOUND') {
        throw error;
      }
    }
  }
  return undefined;
}
