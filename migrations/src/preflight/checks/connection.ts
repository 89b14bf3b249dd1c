import { failure, ok } from '../Finding';
import type { Outcome } from '../Finding';
import type { PreflightCheck, PreflightContext } from '../PreflightCheck';

const STATEMENTS = 20;

const ADVICE =
  'Connect to the server itself: the lock that keeps a second operator out and ' +
  'the settings of the session belong to one process of the server.';

/** One process of the server serves all of the session, and only this session. */
export const connection: PreflightCheck = {
  name: 'connection',
  scope: 'server',
  async run(context) {
    const { executor, serverPid } = context;
    const pids = new Set<number>();
    let age = 0;
    for (let each = 0; each < STATEMENTS; each += 1) {
      const [row] = await executor.read<{ pid: number; age: number }>(
        `select pid, extract(epoch from clock_timestamp() - backend_start)::float8 as age
           from pg_stat_get_activity(pg_backend_pid())`,
      );
      pids.add(row.pid);
      age = row.age;
    }
    if (pids.size > 1) {
      return [
        failure(
          `${pids.size} processes of the server answered ${STATEMENTS} statements: ` +
            'something pools the connections by the transaction.',
          { advice: ADVICE },
        ),
      ];
    }
    // A pooler with little to do hands out the same connection each time. But it
    // names a process of its own in the greeting, or had the connection before this
    // command began: two spans of time can be compared whatever the clocks say.
    if (serverPid !== undefined && !pids.has(serverPid)) {
      return [
        pooled(
          'The process of the server is not the one that greeted the command',
          context,
        ),
      ];
    }
    if (age > process.uptime() + 1) {
      return [pooled('The connection is older than this command', context)];
    }
    return [ok('One process of the server serves the session.')];
  },
};

/** Whether by the session, which does no harm, can't be told from here. */
function pooled(sign: string, { settings }: PreflightContext): Outcome {
  return {
    level: settings.force ? 'warning' : 'failure',
    message: `${sign}: something pools connections.`,
    advice: `${ADVICE} Give --force if it pools by the session.`,
  };
}
