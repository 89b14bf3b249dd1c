import { mkdtemp, rm } from 'fs/promises';
import { tmpdir } from 'os';
import { join } from 'path';
import { Postgres } from '@internal/postgres';
import {
  eventually,
  waitUntil,
  withClient,
  withDeadline,
} from '@internal/postgres/testUtils';
import { migrateTo } from 'backstage-catalog-tenancy-migrations';
import type { Client } from 'pg';
import { LoadClients, sampleOf } from '../__testUtils__/LoadClients';
import {
  type CatalogBackend,
  startCatalogBackend,
} from '@internal/catalog-testing/startCatalogBackend';
import {
  allowLogin,
  APPLICATION,
} from '@internal/catalog-testing/tenancyDatabase';

// Fewer connections than clients, so that clients wait for each other.
const POOL_SIZE = 4;
// The directory of tenants listens for changes on a connection beside the pool.
const LISTENING_CONNECTIONS = 1;
const TENANTS = ['tenant-0', 'tenant-1', 'tenant-2'];
// A fault lasts until as many requests were refused.
const REFUSALS = 5;

/**
 * A server that waits for the disk, unlike the shared ones: what was answered has to
 * survive a crash. It comes back on the same port with the same data.
 */
class CrashingPostgres {
  postgres!: Postgres;
  #folder!: string;

  async start(): Promise<void> {
    this.#folder = await mkdtemp(join(tmpdir(), 'tenancy-outage-'));
    await this.restart();
  }

  async restart(): Promise<void> {
    const port = this.postgres?.connection.port;
    const dataDirectory = join(this.#folder, 'server');
    this.postgres = await Postgres.start({ dataDirectory, port });
  }

  /** SIGQUIT: PostgreSQL ends at once, without a checkpoint. */
  async crash(): Promise<void> {
    process.kill(this.postgres.pid, 'SIGQUIT');
    await withDeadline('PostgreSQL to crash', this.postgres.exited);
  }

  async remove(): Promise<void> {
    await this.postgres.stop();
    await rm(this.#folder, { recursive: true });
  }

  /** Works on the database as the superuser, on a connection that no fault ends. */
  async administer<T>(work: (client: Client) => Promise<T>): Promise<T> {
    return withClient(
      { ...this.postgres.connection, database: 'postgres' },
      client => work(client),
    );
  }
}

const TERMINATE_ALL = `
  select pg_terminate_backend(pid) from pg_stat_activity
   where datname = 'postgres' and pid <> pg_backend_pid()`;

const server = new CrashingPostgres();
beforeAll(async () => {
  await server.start();
  await server.administer(async client => {
    await migrateTo(5, {
      connection: { ...server.postgres.connection, database: 'postgres' },
      schema: 'tenancy',
      createTables: true,
    });
    await allowLogin(client);
  });
});
afterAll(() => server.remove());

interface Fault {
  what: string;
  /** Begins the fault, waits until clients felt it, and ends it. */
  inflict(untilRefused: () => Promise<void>): Promise<void>;
}

const postgresCrash: Fault = {
  what: 'PostgreSQL crashes, and starts again',
  async inflict(untilRefused) {
    await server.crash();
    await untilRefused();
    await server.restart();
  },
};

const termination: Fault = {
  what: 'PostgreSQL terminates all connections, again and again',
  inflict: untilRefused =>
    server.administer(async client => {
      let isOver = false;
      const terminating = (async () => {
        while (!isOver) {
          await client.query(TERMINATE_ALL);
        }
      })();
      try {
        await untilRefused();
      } finally {
        isOver = true;
        await terminating;
      }
    }),
};

const lock: Fault = {
  what: 'a lock holds all connections of the pool',
  inflict: untilRefused =>
    server.administer(async client => {
      await client.query('begin');
      // ACCESS EXCLUSIVE, against every read and write, until clients were refused:
      // this is the fault.
      await client.query(
        'lock table tenancy.entities in access exclusive mode',
      );
      await untilRefused();
      await client.query('rollback');
    }),
};

const refusedLogin: Fault = {
  what: 'PostgreSQL accepts no connection, and ends those that there are',
  inflict: untilRefused =>
    server.administer(async client => {
      const { user } = APPLICATION;
      await client.query(`alter role ${user} connection limit 0`);
      await client.query(`${TERMINATE_ALL} and usename = '${user}'`);
      try {
        await untilRefused();
      } finally {
        await client.query(`alter role ${user} connection limit -1`);
      }
    }),
};

/** Starts a backend with tenants that have entities, before the tests of a suite. */
function startBackend(): () => CatalogBackend {
  let backend: CatalogBackend | undefined;
  beforeAll(async () => {
    const { host, port } = server.postgres.connection;
    backend = await startCatalogBackend({
      connection: { ...server.postgres.connection, database: 'postgres' },
      enabled: true,
      config: {
        tenancy: {
          database: {
            connection: { host, port },
            pool: {
              max: POOL_SIZE,
              connectionTimeoutMs: 300,
              statementTimeoutMs: 1_000,
            },
          },
        },
      },
    });
    const { createTenant } = backend;
    for (const slug of TENANTS) {
      // A connection may take longer than clients are to wait for one.
      await eventually(async () => {
        await createTenant(slug, sampleOf(slug));
      });
    }
  });
  afterAll(() => backend?.stop());
  return () => backend!;
}

/** Inflicts a fault under load, and waits until the backend has recovered. */
async function survive(
  backend: CatalogBackend,
  { inflict }: Fault,
): Promise<{ wrongAnswers: string[]; connections: number }> {
  const load = await LoadClients.start(backend, TENANTS);
  try {
    await load.untilAllAreAnswered();
    await inflict(() => load.untilRefused(REFUSALS));
    await load.untilAllAreAnswered();
  } finally {
    await load.stop();
  }

  const countConnections = (state: string) =>
    server.administer(async client => {
      const { rows } = await client.query(
        `select count(*)::int as count from pg_stat_activity
          where datname = 'postgres' and usename = $1 and ${state}`,
        [APPLICATION.user],
      );
      return rows[0].count as number;
    });
  await waitUntil(
    'no connection to be busy',
    async () => (await countConnections(`state <> 'idle'`)) === 0,
  );
  const connections = await countConnections('true');
  return { wrongAnswers: load.wrongAnswers, connections };
}

describe('While clients read and write,', () => {
  const backend = startBackend();

  it.each([postgresCrash, termination, lock, refusedLogin])(
    'a backend refuses with 429 or 503 at most, loses nothing and recovers: $what',
    async fault => {
      const { wrongAnswers, connections } = await survive(backend(), fault);
      expect(wrongAnswers).toEqual([]);
      expect(connections).toBeLessThanOrEqual(
        POOL_SIZE + LISTENING_CONNECTIONS,
      );
    },
  );
});
