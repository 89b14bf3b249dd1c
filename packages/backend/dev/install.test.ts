import { spawnSync } from 'child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'fs';
import { readFileSync, writeFileSync } from 'fs';
import { tmpdir } from 'os';
import { delimiter, dirname, join } from 'path';

describe('the installation before a command', () => {
  let root: string;

  const path = (name: string) => join(root, name);
  const write = (name: string, content: string) => {
    mkdirSync(dirname(path(name)), { recursive: true });
    writeFileSync(path(name), content);
  };

  /** What was asked of yarn, by a stand-in for npx that leaves what yarn leaves. */
  function install(env: Record<string, string> = {}) {
    rmSync(path('asked'), { force: true });
    const { status, stdout } = spawnSync(
      process.execPath,
      [join(__dirname, 'install.cjs')],
      {
        cwd: root,
        encoding: 'utf8',
        env: {
          ...process.env,
          PATH: `${path('bin')}${delimiter}${process.env.PATH}`,
          ...env,
        },
      },
    );
    const asked = existsSync(path('asked'))
      ? readFileSync(path('asked'), 'utf8').trim()
      : undefined;
    return { status, stdout, asked };
  }
  const YARN = '--yes @yarnpkg/cli-dist@4.18.1 install --immutable';

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'install-test-'));
    write(
      'package.json',
      '{"packageManager": "yarn@4.18.1", "workspaces": ["plugins/*", "migrations"]}',
    );
    write('yarn.lock', 'one');
    write('.yarnrc.yml', 'nodeLinker: node-modules');
    write('plugins/a/package.json', '{}');
    write('migrations/package.json', '{}');
    write(
      'bin/npx',
      `#!/bin/sh
echo "$*" > asked
echo 'Done with warnings'
mkdir -p node_modules && cp yarn.lock node_modules/.yarn-state.yml
exit "\${YARN_STATUS:-0}"
`,
    );
    chmodSync(path('bin/npx'), 0o755);
  });

  afterEach(() => rmSync(root, { recursive: true }));

  it('is asked of the release of yarn that package.json names, once', () => {
    expect(install()).toMatchObject({ status: 0, asked: YARN });
    expect(install()).toMatchObject({ status: 0, asked: undefined });
  });

  it('leaves the standard output to the command', () => {
    expect(install().stdout).toBe('');
  });

  it.each([
    ['yarn.lock', () => write('yarn.lock', 'two')],
    ['the settings of yarn', () => write('.yarnrc.yml', '')],
    ['a package', () => write('plugins/a/package.json', '{"name": "a"}')],
    ['the list of packages', () => write('plugins/b/package.json', '{}')],
    [
      'what yarn installed at other times',
      () => write('node_modules/.yarn-state.yml', 'three'),
    ],
    [
      'all of it, which is gone',
      () => rmSync(path('node_modules'), { recursive: true }),
    ],
  ])('is done again after a change of %s', (_, change) => {
    install();
    change();
    expect(install().asked).toBe(YARN);
    expect(install().asked).toBeUndefined();
  });

  it('ends the command with the status of yarn where that fails, and is tried again', () => {
    expect(install({ YARN_STATUS: '3' })).toMatchObject({ status: 3 });
    expect(install()).toMatchObject({ status: 0, asked: YARN });
  });
});
