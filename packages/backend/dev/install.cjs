/*
 * Installs what yarn.lock names, before a command that needs it. Yarn takes five seconds to
 * find out that there is nothing to do, so it is asked only where something has changed since
 * it was last done here. Works without any package, as nothing may be installed yet.
 */

const { spawnSync } = require('child_process');
const { createHash } = require('crypto');
const fs = require('fs');
const path = require('path');

const { packageManager, workspaces } = JSON.parse(
  fs.readFileSync('package.json', 'utf8'),
);
const fingerprintPath = path.join('node_modules', '.installed');
// What yarn itself keeps of the last time, be it from here or not.
const yarnState = path.join('node_modules', '.yarn-state.yml');

const folders = workspaces.flatMap(workspace =>
  workspace.endsWith('/*')
    ? fs
        .readdirSync(path.dirname(workspace))
        .map(name => path.join(path.dirname(workspace), name))
    : [workspace],
);
const manifests = ['.', ...folders]
  .map(folder => path.join(folder, 'package.json'))
  .filter(manifest => fs.existsSync(manifest));

function fingerprint() {
  const hash = createHash('sha256');
  for (const file of ['yarn.lock', '.yarnrc.yml', yarnState, ...manifests]) {
    hash
      .update(`${file}\0`)
      .update(read(file) ?? '')
      .update('\0');
  }
  return hash.digest('hex');
}

function read(file) {
  return fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : undefined;
}

if (read(fingerprintPath) === fingerprint()) {
  process.exit(0);
}

const release = packageManager.replace('yarn@', '@yarnpkg/cli-dist@');
// Some commands write nothing but their result to the standard output.
const { status, error } = spawnSync(
  'npx',
  ['--yes', release, 'install', '--immutable'],
  { stdio: ['inherit', process.stderr, 'inherit'] },
);
if (error) {
  throw error;
}
if (status === 0) {
  fs.writeFileSync(fingerprintPath, fingerprint());
}
process.exit(status ?? 1);
