import { createTestDatabases } from '@internal/postgres/testUtils';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { version } from 'pg/package.json';
import { entityRow } from './__testUtils__/entityRow';
import { SingleConnection } from './__testUtils__/SingleConnection';

const ROOT = join(__dirname, '../../../..');
// The first version of `pg` with pipelines.
const RANGE = '^8.23.0';

const databases = createTestDatabases({ versions: 'newest' });

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

  it.each(databases.eachSupportedId())('serves a tenant on %s', async id => {
    const connection = await SingleConnection.create(databases, id);
    try {
      await connection.reset();
      const { tenant, tenants } = connection;
      await tenants.query(tenant, scope =>
        scope.insertInto('entities', [entityRow('a')]),
      );
      await expect(connection.names()).resolves.toEqual(['a']);
      await expect(connection.doubts()).resolves.toEqual([]);
    } finally {
      await connection.close();
    }
  });
});
