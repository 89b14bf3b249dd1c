import { withDeadline } from '@internal/postgres/testUtils';
import { spawn } from 'child_process';
import { once } from 'events';
import { text } from 'stream/consumers';

const SCRIPT = `
  const { stopRequest } = require(${JSON.stringify(
    require.resolve('./backend.ts'),
  )});
  const keepRunning = setInterval(() => {}, 1000);
  stopRequest().then(() => { console.log('stopped'); clearInterval(keepRunning); });
  console.error('waiting');
`;

/** Runs the script in a shell, as npm does. */
function run() {
  const node = `"${process.execPath}" --require "${require.resolve(
    '@backstage/cli/config/nodeTransform.cjs',
  )}" -e "$SCRIPT"`;
  // What follows keeps the shell from being replaced by node.
  const shell = spawn('sh', ['-c', `${node}; true`], {
    env: { ...process.env, SCRIPT, npm_lifecycle_event: 'start' },
    detached: true,
  });
  return { shell, output: text(shell.stdout) };
}

describe('stopRequest', () => {
  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
    'follows a %s to the whole group',
    async signal => {
      const { shell, output } = run();
      await withDeadline('the script', once(shell.stderr, 'data'));
      process.kill(-shell.pid!, signal);
      expect(await output).toBe('stopped\n');
    },
  );

  it('follows the end of the shell', async () => {
    const { shell, output } = run();
    await withDeadline('the script', once(shell.stderr, 'data'));
    shell.kill('SIGKILL');
    expect(await output).toBe('stopped\n');
  });
});
