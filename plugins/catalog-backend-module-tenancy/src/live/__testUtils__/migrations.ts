// The operator's commands, from the tests of the migration.
/* eslint-disable @backstage/no-relative-monorepo-imports */
import {
  runCli,
  runInProcess,
  urlOf,
} from '../../../../../migrations/src/cli/__testUtils__/runCli';

export { runInProcess, urlOf };

/**
 * Runs a command as a process, which must succeed.
 *
 * @returns what it has printed
 */
export async function runCommand(url: string, args: string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await runCli(args, {
    env: { MIGRATION_DATABASE_URL: url },
  });
  if (exitCode !== 0) {
    throw new Error(
      `${args.join(' ')} ended with ${exitCode}:\n${stdout}${stderr}`,
    );
  }
  return stdout + stderr;
}
