import { execFileSync, spawnSync } from 'node:child_process';
import {
  CITUS_VARIABLE,
  citusCoordinator,
  citusServers,
} from '../src/CitusCluster';
import { withClient } from '../src/withClient';

// Runs the test files that hold on Citus too, which say so (`citus: true`), on the cluster that
// the environment names.

/** Which cluster it is. */
async function describeCluster(): Promise<string> {
  const servers = await citusServers();
  return withClient(servers[0], async client => {
    const { rows } = await client.query<{ citus: string; server: string }>(
      `select extversion as citus, current_setting('server_version') as server
         from pg_extension where extname = 'citus'`,
    );
    const [{ citus, server }] = rows;
    return `Citus ${citus} on PostgreSQL ${server}, ${
      servers.length - 1
    } nodes beside the coordinator`;
  });
}

async function main(): Promise<number> {
  if (!citusCoordinator()) {
    process.stdout.write(
      `The tests on Citus were left out: ${CITUS_VARIABLE} names no coordinator.\n`,
    );
    return 0;
  }
  const files = execFileSync(
    'git',
    ['grep', '-l', 'citus: true', '--', '*.test.ts'],
    { encoding: 'utf8' },
  )
    .trim()
    .split('\n');
  process.stdout.write(
    `${await describeCluster()}: ${files.length} test files\n`,
  );
  const { status } = spawnSync(
    'npx',
    [
      'backstage-cli',
      'repo',
      'test',
      '--watchAll=false',
      '--passWithNoTests=false',
      '--maxWorkers=1',
      ...files,
      ...process.argv.slice(2),
    ],
    { stdio: 'inherit', env: { ...process.env, CI: 'true' } },
  );
  return status ?? 1;
}

main().then(
  status => {
    process.exitCode = status;
  },
  error => {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  },
);
