import { setTimeout as delay } from 'node:timers/promises';
import { findPgBouncer, PgBouncer } from '@internal/postgres';
import { ServerProcess } from '../../harness/ServerProcess';
import { withClient } from '../../migration/database';
import {
  APP_LOGIN,
  BOUNCER_CONNECTIONS,
  DATABASE,
  LISTENING_CONNECTIONS,
  PASSWORD,
  POOL_SIZE,
  SERVICE_TOKEN,
} from '../constants';
import type { MemoryAnswer } from '../servers/control';
import type { ServerSettings } from '../servers/settings';
import type { RestartableServer } from './RestartableServer';

/** The connections of a backend to the tables of tenants. */
export interface Connections {
  open: number;
  /** Not waiting for something to do. */
  busy: number;
}

const LOOK_AGAIN_MS = 50;
const LONGEST_CALM_MS = 10_000;

// So that clients are refused and not kept waiting while PostgreSQL is away, and that
// it is tried again as soon as they do.
const BOUNCER_SETTINGS = { query_wait_timeout: '2', server_login_retry: '1' };

/** A backend and all that it depends on. */
export class World {
  readonly server: RestartableServer;
  readonly bouncer: PgBouncer | undefined;
  readonly #backend: ServerProcess;

  /** @param behindBouncer - whether PgBouncer pools transactions in between */
  static async start(
    server: RestartableServer,
    behindBouncer: boolean,
  ): Promise<World> {
    const bouncer = behindBouncer ? await startBouncer(server) : undefined;
    try {
      return new World(server, await startBackend(server, bouncer), bouncer);
    } catch (error) {
      await bouncer?.stop();
      throw error;
    }
  }

  private constructor(
    server: RestartableServer,
    backend: ServerProcess,
    bouncer: PgBouncer | undefined,
  ) {
    this.server = server;
    this.bouncer = bouncer;
    this.#backend = backend;
  }

  get url(): string {
    return this.#backend.url;
  }

  /** How many connections there may be to the tables of tenants. */
  get mostConnections(): number {
    return this.bouncer
      ? BOUNCER_CONNECTIONS
      : POOL_SIZE + LISTENING_CONNECTIONS;
  }

  /** Runs statements as the superuser, on one connection of PostgreSQL's own. */
  async administer(
    work: (run: (sql: string) => Promise<object[]>) => Promise<void>,
  ): Promise<void> {
    await withClient(
      { postgres: this.server.postgres, name: DATABASE },
      async client => work(async sql => (await client.query(sql)).rows),
    );
  }

  async connections(): Promise<Connections> {
    let connections: Connections = { open: 0, busy: 0 };
    await this.administer(async run => {
      const [row] = await run(
        `select count(*)::int as open,
                (count(*) filter (where state <> 'idle'))::int as busy
           from pg_stat_activity
          where datname = '${DATABASE}' and usename = '${APP_LOGIN}'`,
      );
      connections = row as Connections;
    });
    return connections;
  }

  /** The connections once nobody asks for anything, or after a while. */
  async calmConnections(): Promise<Connections> {
    const end = performance.now() + LONGEST_CALM_MS;
    for (;;) {
      const connections = await this.connections();
      if (connections.busy === 0 || performance.now() > end) {
        return connections;
      }
      await delay(LOOK_AGAIN_MS);
    }
  }

  async memory(): Promise<MemoryAnswer> {
    const response = await fetch(`${this.url}/api/benchmark/memory`, {
      headers: { authorization: `Bearer ${SERVICE_TOKEN}` },
    });
    return await response.json();
  }

  async stop(): Promise<void> {
    await this.#backend.stop();
    await this.bouncer?.stop();
  }
}

async function startBouncer(server: RestartableServer): Promise<PgBouncer> {
  const executable = findPgBouncer();
  if (!executable) {
    throw new Error('No pgbouncer on the PATH');
  }
  const { host, port } = server.postgres.connection;
  return await PgBouncer.start(
    executable,
    { host, port, user: APP_LOGIN, password: PASSWORD, database: DATABASE },
    { connections: BOUNCER_CONNECTIONS, settings: BOUNCER_SETTINGS },
  );
}

async function startBackend(
  server: RestartableServer,
  bouncer: PgBouncer | undefined,
): Promise<ServerProcess> {
  const { connection } = server.postgres;
  const { host, port } = bouncer?.connection ?? connection;
  const settings: ServerSettings = {
    connection: { ...connection, database: DATABASE },
    tenants: { host, port },
  };
  return await ServerProcess.start(
    require.resolve('../servers/backend'),
    settings,
  );
}
