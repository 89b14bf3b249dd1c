import { readFileSync } from 'fs';
import { dirname } from 'path';
import { targetPaths } from '@backstage/cli-common';
import { repositoryFiles } from '@internal/postgres/testUtils';
import { parse } from 'yaml';

// An installation on a CI is refused where a lock file has other dependencies than a package.json.

const MANIFESTS = repositoryFiles(targetPaths.rootDir).filter(file =>
  /^(\w[^/]*\/){0,2}package\.json$/.test(file),
);

const read = (file: string) =>
  readFileSync(targetPaths.resolveRoot(file), 'utf8');

const namesOf = (...sections: (object | undefined)[]) =>
  sections.flatMap(section => Object.keys(section ?? {})).sort();

it.each(['yarn.lock', '.ci/backstage-1.55/yarn.lock'])(
  '%s has the dependencies of each package',
  lock => {
    const entries = Object.values<any>(parse(read(lock)));
    const locked = new Map(
      entries.map(({ resolution, ...entry }) => [
        String(resolution).replace(/^.*@workspace:/, ''),
        namesOf(entry.dependencies, entry.peerDependencies),
      ]),
    );
    expect(MANIFESTS.length).toBeGreaterThan(10);
    for (const file of MANIFESTS) {
      const manifest = JSON.parse(read(file));
      expect([file, locked.get(dirname(file))]).toEqual([
        file,
        namesOf(
          manifest.dependencies,
          manifest.devDependencies,
          manifest.optionalDependencies,
          manifest.peerDependencies,
        ),
      ]);
    }
  },
);
