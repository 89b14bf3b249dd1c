import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { version } from 'pg/package.json';

const ROOT = join(__dirname, '../../../..');
// The first version of `pg` with pipelines.
const RANGE = '^8.23.0';

/** The ranges of `pg` of all packages. */
function ranges(): [string, string][] {
  const folders = ['packages', 'plugins'].flatMap(parent =>
    readdirSync(join(ROOT, parent)).map(name => join(parent, name)),
  );
  return [...folders, 'migrations', 'benchmarks'].flatMap(folder => {
    const { dependencies, devDependencies, peerDependencies } = JSON.parse(
      readFileSync(join(ROOT, folder, 'package.json'), 'utf8'),
    );
    const range = { ...peerDependencies, ...devDependencies, ...dependencies }
      .pg;
    return range ? [[folder, range] as [string, string]] : [];
  });
}

describe(`The driver pg ${version}`, () => {
  it('is in the range of all packages', () => {
    const [major, minor] = version.split('.').map(Number);
    expect(major).toBe(8);
    expect(minor).toBeGreaterThanOrEqual(23);
    expect(ranges().length).toBeGreaterThan(5);
    for (const each of ranges()) {
      expect(each).toEqual([each[0], RANGE]);
    }
  });
});
