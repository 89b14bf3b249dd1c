import { isError, ResponseError } from '@backstage/errors';
import { operatorCommand } from 'backstage-catalog-tenancy-migrations';
import { TenantsClient } from 'backstage-plugin-tenants-common';
import { Command, CommanderError, Option } from 'commander';
import type { Writable } from 'node:stream';
import { type Change, planTenants } from './planTenants';
import { readTenantsFile } from './readTenantsFile';

const FAILED = 1;
const HAS_CHANGES = 2;

/** Between two lines about the progress. */
const PROGRESS_MS = 2_000;

const HELP = `
The token of a service that tenancy.admins lists comes from TENANCY_TOKEN.
A tenant that the file does not name stays as it is, and so does what it leaves out of a tenant.

Exit codes:
  0  done, or nothing to do
  1  a failure: what was done before it stays; run the command again
  2  with --exit-code: there is something to do`;

interface Options {
  file: string;
  plan?: boolean;
  exitCode?: boolean;
  url: string;
}

interface Surroundings {
  stdout: Pick<Writable, 'write'>;
  stderr: Pick<Writable, 'write'>;
  env: NodeJS.ProcessEnv;
}

/**
 * Runs `tenant apply`.
 *
 * @returns the exit code of the process
 */
export async function main(
  args: string[],
  surroundings: Surroundings = process,
): Promise<number> {
  const { stdout, stderr, env } = surroundings;
  const command = new Command(operatorCommand('tenant', 'apply'))
    .description('Makes tenants as a file has them, by the API of the backend.')
    .requiredOption('-f, --file <file>', 'the tenants, as YAML')
    .option('--plan', 'print what is to be done, and do nothing')
    .addOption(
      new Option(
        '--exit-code',
        'as --plan, and exit with 2 where there is something',
      ).implies({ plan: true }),
    )
    .option(
      '--url <url>',
      'the base URL of the backend, in place of TENANCY_URL',
      env.TENANCY_URL ?? 'http://localhost:7007',
    )
    .addHelpText('after', HELP)
    .exitOverride()
    .showHelpAfterError('(--help shows what is expected)')
    .configureOutput({
      writeOut: text => stdout.write(text),
      writeErr: text => stderr.write(text),
    });
  try {
    command.parse(args, { from: 'user' });
    return await run(command.opts<Options>(), surroundings);
  } catch (error) {
    if (error instanceof CommanderError) {
      return error.exitCode === 0 ? 0 : FAILED;
    }
    stderr.write(`${explain(error)}\n`);
    return FAILED;
  }
}

async function run(
  { file, plan, exitCode, url }: Options,
  { stdout, stderr, env }: Surroundings,
): Promise<number> {
  const wanted = await readTenantsFile(file);
  const base = url.replace(/\/+$/, '');
  const api = new TenantsClient({
    discoveryApi: { getBaseUrl: async id => `${base}/api/${id}` },
  });
  let said = Date.now();
  const changes = await planTenants(api, wanted, {
    token: env.TENANCY_TOKEN,
    onCompared: count => {
      if (Date.now() - said >= PROGRESS_MS) {
        said = Date.now();
        stderr.write(`${count} of ${wanted.length} tenants compared\n`);
      }
    },
  });
  if (changes.length === 0) {
    stdout.write('All tenants are as the file has them.\n');
    return 0;
  }
  stdout.write(describe(changes));
  if (plan) {
    return exitCode ? HAS_CHANGES : 0;
  }
  stdout.write('\n');
  for (const { slug, text, apply } of changes) {
    await apply().catch(error => {
      throw new Error(`Not done: ${slug}: ${text}\n${explain(error)}`);
    });
    stdout.write(`done: ${slug}: ${text}\n`);
  }
  return 0;
}

function describe(changes: readonly Change[]): string {
  const slugs = [...new Set(changes.map(({ slug }) => slug))];
  return slugs
    .map(slug => {
      const own = changes.filter(each => each.slug === slug);
      return `${slug}\n${own.map(({ text }) => `  ${text}\n`).join('')}`;
    })
    .join('');
}

/** In words for people, without a stack. */
function explain(error: unknown): string {
  if (error instanceof ResponseError) {
    const { statusCode, cause } = error;
    return statusCode === 401
      ? 'The backend does not take the token. Set TENANCY_TOKEN to that of a service that tenancy.admins lists'
      : cause.message;
  }
  if (error instanceof TypeError) {
    return 'The backend does not answer. Set --url or TENANCY_URL to its base URL';
  }
  return isError(error) ? error.message : String(error);
}
