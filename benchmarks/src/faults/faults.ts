import { setTimeout as delay } from 'node:timers/promises';
import { APP_LOGIN, DATABASE, SCHEMA } from './constants';
import type { World } from './world/World';

/** Something that goes wrong below a backend. */
export interface Fault {
  what: string;
  /** Whether somebody must have been refused: otherwise there was no fault. */
  felt: boolean;
  /** Resolves once it is over, after some seconds where its length is ours to say. */
  inflict(world: World, seconds: number): Promise<void>;
}

const AGAIN_MS = 250;

const nothing: Fault = {
  what: 'nothing',
  felt: false,
  inflict: (_world, seconds) => delay(seconds * 1000),
};

const crash: Fault = {
  what: 'PostgreSQL crashes, and starts again',
  felt: true,
  async inflict({ server }, seconds) {
    await server.crash();
    await delay(seconds * 1000);
    await server.restart();
  },
};

/** Those to the tables of tenants, and those of the stock catalog. */
const termination: Fault = {
  what: 'all connections are terminated, 4 times a second',
  felt: true,
  inflict: (world, seconds) =>
    world.administer(async run => {
      const end = performance.now() + seconds * 1000;
      while (performance.now() < end) {
        await run(
          `select pg_terminate_backend(pid) from pg_stat_activity
            where datname = '${DATABASE}' and pid <> pg_backend_pid()`,
        );
        await delay(AGAIN_MS);
      }
    }),
};

/** Whoever wants to read or change an entity waits, and keeps a connection. */
const exhaustion: Fault = {
  what: 'a lock holds all connections of the pool',
  felt: true,
  inflict: (world, seconds) =>
    world.administer(async run => {
      await run('begin');
      // Against everybody, until the end of the fault: this is the fault.
      await run(`lock table ${SCHEMA}.entities in access exclusive mode`);
      await delay(seconds * 1000);
      await run('rollback');
    }),
};

/** PostgreSQL lets in no more, as when others have taken all of its connections. */
const refusal: Fault = {
  what: 'PostgreSQL accepts no connection, and ends those that there are',
  felt: true,
  inflict: (world, seconds) =>
    world.administer(async run => {
      await run(`alter role ${APP_LOGIN} connection limit 0`);
      await run(
        `select pg_terminate_backend(pid) from pg_stat_activity
          where usename = '${APP_LOGIN}'`,
      );
      await delay(seconds * 1000);
      await run(`alter role ${APP_LOGIN} connection limit -1`);
    }),
};

/** Of a server that is there only with PgBouncer in between. */
export const bouncerCrash: Fault = {
  what: 'PgBouncer crashes, and starts again',
  felt: true,
  async inflict({ bouncer }, seconds) {
    await bouncer?.crash();
    await delay(seconds * 1000);
    await bouncer?.restart();
  },
};

/** What can go wrong between a backend and PostgreSQL. */
export const FAULTS: Fault[] = [
  nothing,
  crash,
  termination,
  exhaustion,
  refusal,
];

/** What can go wrong with PgBouncer in between. */
export const FAULTS_BEHIND_BOUNCER: Fault[] = [
  nothing,
  crash,
  termination,
  bouncerCrash,
];
