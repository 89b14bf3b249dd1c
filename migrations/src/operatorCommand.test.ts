import { readdirSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { operatorCommand } from './operatorCommand';

const PLUGINS = '../../plugins';
const YARN = 'yarn/4.18.1 npm/? node/v22.20.0 linux x64';
const NPM = 'npm/10.9.0 node/v22.20.0 linux x64 workspaces/false';
const BIN = '/repository/node_modules/.bin/backstage-catalog-tenancy-cli';

const through = (
  script: string,
  env: { npm_config_user_agent?: string; npm_lifecycle_event?: string },
) => ({ argv: ['/usr/bin/node', script], env });

describe('operatorCommand', () => {
  it.each([
    [
      'yarn migrate:phase2 --tenant-name <name>',
      through('/repository/migrations/src/cli/index.ts', {
        npm_config_user_agent: YARN,
        npm_lifecycle_event: 'migrate:phase1',
      }),
    ],
    [
      'npm run -s migrate:phase2 -- --tenant-name <name>',
      through('/repository/migrations/src/cli/index.ts', {
        npm_config_user_agent: NPM,
        npm_lifecycle_event: 'migrate:phase1',
      }),
    ],
    [
      'npx backstage-catalog-tenancy-cli phase2 --tenant-name <name>',
      through(BIN, { npm_config_user_agent: NPM, npm_lifecycle_event: 'npx' }),
    ],
    [
      'yarn backstage-catalog-tenancy-cli phase2 --tenant-name <name>',
      through(BIN, { npm_config_user_agent: YARN }),
    ],
    [
      'npx backstage-catalog-tenancy-cli phase2 --tenant-name <name>',
      through(BIN, {}),
    ],
    // A backend.
    [
      'npx backstage-catalog-tenancy-cli phase2 --tenant-name <name>',
      through('/repository/packages/backend/dist/index.cjs.js', {
        npm_config_user_agent: YARN,
        npm_lifecycle_event: 'start',
      }),
    ],
  ])('names it as %s', (expected, invocation) => {
    expect(operatorCommand('phase2', '--tenant-name <name>', invocation)).toBe(
      expected,
    );
  });
});

it('is what every message names a command with', () => {
  const named = sources(resolve(__dirname, '..'), resolve(__dirname, PLUGINS))
    .filter(path => /migrate:[a-z$<]/.test(readFileSync(path, 'utf8')))
    .map(path => basename(path));
  expect(named).toEqual(['operatorCommand.ts']);
});

/** The source of these folders, without that of tests. */
function sources(...folders: string[]): string[] {
  return folders.flatMap(folder =>
    readdirSync(folder, { withFileTypes: true }).flatMap(entry => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) {
        return /^(node_modules|dist|__.*)$/.test(entry.name)
          ? []
          : sources(path);
      }
      return /(?<!\.test)\.ts$/.test(entry.name) ? [path] : [];
    }),
  );
}
