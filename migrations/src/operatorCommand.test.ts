import { readdirSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { addDoctor, buildProgram } from './cli/program';
import { operatorCommand } from './operatorCommand';

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

const SOURCES = [__dirname, resolve(__dirname, '../../plugins')].flatMap(
  sources,
);

it('is what every message names a command with', () => {
  const named = SOURCES.filter(path =>
    /migrate:[a-z$<]/.test(readFileSync(path, 'utf8')),
  );
  expect(named.map(path => basename(path))).toEqual(['operatorCommand.ts']);
});

/** A name, or what it begins with, and what follows it: subcommands and options. */
const CALL =
  /operatorCommand\(\s*(?:'([\w-]+)'|`(\w+)\$\{[^}]*\}`),?\s*(?:['`]([^'`\s]+)([^'`]*))?/g;

it('has options that the command line takes', () => {
  const streams = { stdout: process.stdout, stderr: process.stderr };
  const program = buildProgram(streams, async () => undefined);
  addDoctor(program, async () => undefined);
  const calls = SOURCES.flatMap(path => [
    ...readFileSync(path, 'utf8').matchAll(CALL),
  ]);
  expect(calls.length).toBeGreaterThan(30);
  for (const [call, name, phase, first = '', rest = ''] of calls) {
    const command = program.commands.find(each =>
      phase ? each.name().startsWith(phase) : each.name() === name,
    );
    const subcommand = command?.commands.find(each => each.name() === first);
    const found = subcommand ?? command;
    const known = found && ['--help', ...found.options.map(each => each.long)];
    const options = `${first} ${rest}`.match(/--[a-z-]+/g) ?? [];
    expect([call, known]).toEqual([call, expect.arrayContaining(options)]);
  }
});

/** The source below a folder, without that of tests. */
function sources(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap(entry => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      return /^(node_modules|dist|__.*)$/.test(entry.name) ? [] : sources(path);
    }
    return /(?<!\.test)\.ts$/.test(entry.name) ? [path] : [];
  });
}
