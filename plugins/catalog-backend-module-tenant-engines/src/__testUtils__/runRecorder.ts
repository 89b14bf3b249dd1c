import {
  coreServices,
  createBackendModule,
} from '@backstage/backend-plugin-api';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

/** The table in which the runs of tasks note themselves. */
export const RUNS_TABLE = `create table public.task_runs (
  run uuid primary key,
  schema text not null,
  pid int not null,
  begun timestamptz not null default clock_timestamp(),
  last_write timestamptz not null default clock_timestamp(),
  has_ended boolean not null default false
)`;

const WRITES = 25;
const PAUSE_MS = 100;

/**
 * A module for engines with a task that is nearly always at work, and writes all the time
 * through the database of its engine.
 */
export const runRecorder = createBackendModule({
  pluginId: 'catalog',
  moduleId: 'run-recorder',
  register(env) {
    env.registerInit({
      deps: {
        database: coreServices.database,
        scheduler: coreServices.scheduler,
      },
      async init({ database, scheduler }) {
        const knex = await database.getClient();
        const runs = () => knex.withSchema('public').table('task_runs');
        await scheduler.scheduleTask({
          id: 'record',
          frequency: { seconds: 1 },
          timeout: { minutes: 10 },
          async fn() {
            const run = randomUUID();
            await runs().insert({
              run,
              schema: knex.raw('current_schema()'),
              pid: process.pid,
            });
            for (let write = 0; write < WRITES; write += 1) {
              await delay(PAUSE_MS);
              await runs()
                .where({ run })
                .update({
                  last_write: knex.raw('clock_timestamp()'),
                  has_ended: write === WRITES - 1,
                });
            }
          },
        });
      },
    });
  },
});
