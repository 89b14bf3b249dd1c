import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { UPSTREAM } from './EngineDatabase';

/** The names of upstream's migrations. */
export const UPSTREAM_NAMES = readdirSync(UPSTREAM)
  .filter(name => name.endsWith('.js'))
  .sort();

const folders: string[] = [];

afterAll(() => {
  for (const folder of folders) {
    rmSync(folder, { recursive: true, force: true });
  }
});

/**
 * A folder of migrations, as a release of upstream has one.
 *
 * @param options.before - the first of upstream's that this release does not have
 * @param options.further - those that it has in addition: the body of each `up(knex)`
 */
export function migrationsFolder(options: {
  before?: string;
  further?: Record<string, { up: string; isWhole?: boolean }>;
}): string {
  const { before, further = {} } = options;
  if (before && !UPSTREAM_NAMES.includes(before)) {
    throw new Error(`Upstream has no migration ${before}`);
  }
  const folder = mkdtempSync(join(tmpdir(), 'migrations-'));
  folders.push(folder);
  for (const name of UPSTREAM_NAMES.filter(each => !before || each < before)) {
    writeFileSync(
      join(folder, name),
      `module.exports = require(${JSON.stringify(join(UPSTREAM, name))});\n`,
    );
  }
  for (const [name, { up, isWhole = true }] of Object.entries(further)) {
    writeFileSync(
      join(folder, name),
      `exports.up = async knex => { ${up} };
       exports.down = async () => {};
       exports.config = { transaction: ${isWhole} };\n`,
    );
  }
  return folder;
}
