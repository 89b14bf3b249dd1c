// What `npm run pack` runs once everything is built: makes a tarball of each public
// package, and prints what another repository adds to its package.json to install them
// from there, as long as no registry has them.

import { mkdir, readdir, rm } from 'fs/promises';
import { basename, join, resolve } from 'path';
import { targetPaths } from '@backstage/cli-common';
import { yarn } from './deployment';

interface PublicPackage {
  name: string;
  version: string;
  /** Which package of a portal adds it, unless it gets it with another. */
  addedBy?: 'backend' | 'app' | 'operator';
  /** What it shares with the portal, and must not be there twice. */
  peers: Record<string, string>;
  /** Which package of a portal has to have these. */
  peersIn: 'backend' | 'app';
  file: string;
}

function publicPackages(): PublicPackage[] {
  const listed = yarn(targetPaths.rootDir, [
    ...['workspaces', 'list', '--no-private', '--json'],
  ]);
  return listed
    .trim()
    .split('\n')
    .map(line => {
      const { location } = JSON.parse(line) as { location: string };
      const manifest = require(targetPaths.resolveRoot(
        location,
        'package.json',
      ));
      const { name, version, backstage } = manifest;
      return {
        name,
        version,
        addedBy: addedBy(backstage.role),
        peers: requiredPeers(manifest),
        peersIn: backstage.role.startsWith('frontend-') ? 'app' : 'backend',
        // As yarn names it.
        file: `${name}-${version}.tgz`,
      };
    });
}

function addedBy(role: string): PublicPackage['addedBy'] {
  if (role === 'cli') {
    return 'operator';
  }
  if (role.startsWith('backend-plugin')) {
    return 'backend';
  }
  return role.startsWith('frontend-plugin') ? 'app' : undefined;
}

function requiredPeers(manifest: {
  peerDependencies?: Record<string, string>;
  peerDependenciesMeta?: Record<string, { optional?: boolean }>;
}): Record<string, string> {
  const { peerDependencies = {}, peerDependenciesMeta = {} } = manifest;
  return Object.fromEntries(
    Object.entries(peerDependencies).filter(
      ([name]) => !peerDependenciesMeta[name]?.optional,
    ),
  );
}

async function pack(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const file of await readdir(folder)) {
    if (file.endsWith('.tgz')) {
      await rm(join(folder, file));
    }
  }
  yarn(targetPaths.rootDir, [
    ...['workspaces', 'foreach', '--all', '--no-private', '--parallel'],
    ...['pack', '--out', join(folder, '%s-%v.tgz')],
  ]);
}

/** Of `packages/backend/package.json`, `packages/app/package.json` and the one at the root. */
function snippetFor(packages: PublicPackage[], folder: string): object {
  const entries = (of: PublicPackage[], value: (of: PublicPackage) => string) =>
    Object.fromEntries(of.map(each => [each.name, value(each)]));
  const dependenciesOf = (part: PublicPackage['addedBy']) =>
    entries(
      packages.filter(each => each.addedBy === part),
      ({ version }) => `^${version}`,
    );
  const peersOf = (part: PublicPackage['peersIn']) =>
    Object.assign(
      {},
      ...packages
        .filter(each => each.peersIn === part)
        .map(({ peers }) => peers),
    );
  return {
    dependencies: dependenciesOf('backend'),
    devDependencies: dependenciesOf('operator'),
    peerDependencies: peersOf('backend'),
    appDependencies: dependenciesOf('app'),
    appPeerDependencies: peersOf('app'),
    resolutions: entries(
      packages,
      ({ file }) => `file:./${basename(folder)}/${file}`,
    ),
  };
}

async function main(): Promise<void> {
  // Relative to where the command was typed.
  const folder = resolve(
    process.env.INIT_CWD ?? '.',
    process.argv[2] ?? targetPaths.resolveRoot('dist-packages'),
  );
  const packages = publicPackages();
  await pack(folder);
  process.stderr.write(
    `${packages.length} packages are in ${folder}. Copy that folder to the root of ` +
      'your repository, add these dependencies and devDependencies to ' +
      "packages/backend/package.json, those of them that you want, the app's to " +
      'the dependencies in packages/app/package.json, and all of the ' +
      'resolutions to the package.json at the root, and run "yarn install".\n',
  );
  process.stdout.write(
    `${JSON.stringify(snippetFor(packages, folder), null, 2)}\n`,
  );
}

main().catch(error => {
  process.stderr.write(`${error.stack}\n`);
  process.exitCode = 1;
});
