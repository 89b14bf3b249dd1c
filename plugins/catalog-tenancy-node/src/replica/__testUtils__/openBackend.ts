import { eventually } from '@internal/postgres/testUtils';
import type { ClientConfig } from 'pg';
import { mockLogger } from '../../__testUtils__/serviceMocks';
import { entityRow, insertRows } from '../../database/__testUtils__/entityRow';
import { PooledTenantDatabase } from '../../database/PooledTenantDatabase';
import { TenancyPool } from '../../pool/TenancyPool';
import { ReadReplica } from '../ReadReplica';
import type { ReadReplicaOptions } from '../ReplicaWatch';
import { type ReplicatedServers, SCHEMA } from './ReplicatedServers';

const LIMITS = { max: 5, idleTimeoutMs: 30_000, connectionTimeoutMs: 120_000 };

export type Server = 'primary' | 'replica';
export type Backend = Awaited<ReturnType<typeof openBackend>>;

/** What a backend has of a replica, and how it finds out which server has answered. */
export async function openBackend(
  servers: ReplicatedServers,
  tenant: string,
  options: Partial<
    Pick<ReadReplicaOptions, 'replica' | 'maxStalenessMs' | 'check' | 'pool'>
  > = {},
) {
  const logger = mockLogger();
  const pool = TenancyPool.create({
    connection: servers.primary,
    schema: SCHEMA,
    pool: LIMITS,
    logger,
  });
  const connection: ClientConfig = options.replica ?? servers.replica;
  const replica = ReadReplica.create({
    primary: servers.primary,
    schema: SCHEMA,
    pool: LIMITS,
    // Long, so that a machine with much to do is not what sends reads elsewhere.
    maxStalenessMs: 60_000,
    check: async () => {},
    logger,
    ...options,
    replica: connection,
  });
  const database = new PooledTenantDatabase(pool, { replica });

  const read = <TRow extends object>(sql: string, of = tenant) =>
    database.query<TRow>(of, ({ knex }) => knex.raw(sql), {
      mayBeStale: true,
    });
  const answeredBy = async (of = tenant): Promise<Server> => {
    const [{ port }] = await read<{ port: number }>(
      'select inet_server_port() as port',
      of,
    );
    return port === servers.primary.port ? 'primary' : 'replica';
  };
  /** A query that forgets its predicate. */
  const names = async (of = tenant): Promise<string[]> => {
    const rows = await read<{ name: string }>(
      'select entity_name as name from entities order by 1',
      of,
    );
    return rows.map(({ name }) => name);
  };
  const write = (name: string, of = tenant): Promise<void> =>
    database.transaction(of, async transaction => {
      await transaction.query(insertRows(transaction, [entityRow(name)]));
    });
  const isReadFrom = (server: Server, of = tenant): Promise<void> =>
    eventually(async () => expect(await answeredBy(of)).toBe(server));

  return {
    replica,
    database,
    read,
    answeredBy,
    names,
    write,
    isReadFrom,
    /** What was told to whoever operates it, without what is of no account. */
    told: () =>
      [logger.info, logger.warn, logger.error]
        .flatMap(({ mock }) =>
          mock.calls.map(([message], index) => ({
            message,
            order: mock.invocationCallOrder[index],
          })),
        )
        .sort((one, other) => one.order - other.order)
        .map(({ message }) => message),
    async close() {
      await replica.close();
      await pool.close();
    },
  };
}

/** Backends on the same two servers, for one test at a time. */
export class Backends {
  readonly #on: () => { servers: ReplicatedServers; tenant: string };
  #opened: Backend[] = [];

  /** @param on - is asked each time, for servers start before the tests */
  constructor(on: () => { servers: ReplicatedServers; tenant: string }) {
    this.#on = on;
  }

  async open(
    options: Parameters<typeof openBackend>[2] = {},
  ): Promise<Backend> {
    const { servers, tenant } = this.#on();
    const backend = await openBackend(servers, tenant, options);
    this.#opened.push(backend);
    return backend;
  }

  /** One that reads from the replica. */
  async openInUse(
    options: Parameters<typeof openBackend>[2] = {},
  ): Promise<Backend> {
    const backend = await this.open(options);
    await backend.isReadFrom('replica');
    return backend;
  }

  async close(): Promise<void> {
    await Promise.all(this.#opened.splice(0).map(backend => backend.close()));
  }
}
