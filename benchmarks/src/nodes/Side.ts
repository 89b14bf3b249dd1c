import {
  citusCoordinator,
  citusServers,
  formCluster,
} from '@internal/postgres/citus';
import {
  adopt,
  distribute,
  migrateTo,
} from 'backstage-catalog-tenancy-migrations';
import createKnex from 'knex';
import { Client, type ClientConfig } from 'pg';
import { StitchingEngine } from '../adoption/StitchingEngine';
import { createStockTables, fillStockTables } from '../harness/catalogs';
import { DelayingProxy } from '../harness/delayingProxy';
import { createEntities } from '../harness/entities';
import { APP_LOGIN, HOST, PASSWORD, SCHEMA } from '../harness/servers';
import { openPool } from '../scope/sides';
import { PooledTenantDatabase, PostgresCatalogStore } from '../scope/library';

export interface Size {
  /** How many tenants there are, of which each other has a page of entities. */
  tenants: number;
  /** How many entities the tenant has that is measured. */
  entities: number;
  /** How much later each answer of a node reaches the coordinator, in milliseconds. */
  rttMs: number[];
}

/** How many entities each tenant has that is not measured. */
export const ENTITIES_OF_OTHERS = 50;
/** How many the catalog has whose engine works. */
export const ENTITIES_OF_ENGINE = 200;
const BATCH_SIZE = 500;

function addressOf({ host = HOST, port = 5432 }: ClientConfig) {
  return { host, port, user: APP_LOGIN, password: PASSWORD };
}

/** The tables of a stock catalog whose entities are all due. */
async function createEngine(connection: ClientConfig): Promise<void> {
  const knex = createKnex({
    client: 'pg',
    connection: knexConnection(connection),
  });
  try {
    await createStockTables(knex);
    await fillStockTables(knex, ENTITIES_OF_ENGINE);
    await knex('refresh_state').update({ next_update_at: knex.fn.now() });
  } finally {
    await knex.destroy();
  }
}

function knexConnection({
  host,
  port,
  user,
  password,
  database,
}: ClientConfig) {
  return { host, port, user, password: password as string, database };
}

/** @returns the id of the tenant that is measured */
async function fill(
  connection: ClientConfig,
  store: PostgresCatalogStore,
  size: Size,
): Promise<string> {
  const tenants = await query<{ id: string }>(connection, [
    `insert into ${SCHEMA}.tenants (tenant_slug, tenant_name)
     select 'tenant-' || number, 'Tenant ' || number from generate_series(1, ${size.tenants}) number
     returning tenant_id as id`,
  ]);
  for (const [index, { id }] of tenants.entries()) {
    const count = index === 0 ? size.entities : ENTITIES_OF_OTHERS;
    for (let first = 0; first < count; first += BATCH_SIZE) {
      await store.applyMutation(id, {
        type: 'delta',
        added: entitiesOf(first, Math.min(BATCH_SIZE, count - first)),
        removed: [],
      });
    }
  }
  await query(connection, ['vacuum analyze']);
  return tenants[0].id;
}

function entitiesOf(first: number, length: number) {
  return createEntities(first, length).map(({ entity }) => entity);
}

async function drop(servers: ClientConfig[], database: string): Promise<void> {
  for (const server of servers) {
    await query({ ...server, database: 'postgres' }, [
      `drop database if exists ${database} with (force)`,
    ]);
  }
}

/** @returns the rows of the last statement */
async function query<TRow extends object>(
  connection: ClientConfig,
  statements: string[],
): Promise<TRow[]> {
  const client = new Client(connection);
  await client.connect();
  try {
    let rows: TRow[] = [];
    for (const statement of statements) {
      ({ rows } = await client.query<TRow>(statement));
    }
    return rows;
  } finally {
    await client.end();
  }
}

/** A database, and how it is reached. */
export class Side {
  readonly name: string;
  /** That of the default tenant. */
  readonly engine: StitchingEngine;
  readonly store: PostgresCatalogStore;
  readonly tenantId: string;
  readonly refs: string[];
  readonly owners: string[];
  readonly #connection: ClientConfig;
  readonly #close: () => Promise<void>;
  #revision = 0;

  /** @param rttMs - of the nodes; without it, there are none */
  static async create(name: string, size: Size, rttMs?: number): Promise<Side> {
    const closers: Array<() => Promise<void>> = [];
    const close = async () => {
      for (const end of closers.splice(0).reverse()) {
        await end();
      }
    };
    try {
      const servers =
        rttMs === undefined ? [citusCoordinator()!] : await citusServers();
      const database =
        rttMs === undefined
          ? 'benchmark_one_server'
          : `benchmark_nodes_${String(rttMs).replace('.', '_')}`;
      closers.push(() => drop(servers, database));
      await drop(servers, database);
      for (const server of servers) {
        await query({ ...server, database: 'postgres' }, [
          `create database ${database} template template0`,
        ]);
      }
      const [coordinator, ...nodes] = servers;
      const connection = { ...coordinator, database };
      if (rttMs !== undefined) {
        const reached = rttMs > 0 ? [] : nodes;
        for (const node of rttMs > 0 ? nodes : []) {
          const proxy = await DelayingProxy.start(addressOf(node), rttMs, {
            exact: true,
          });
          closers.push(() => proxy.stop());
          reached.push(proxy.connection);
        }
        await formCluster(database, reached);
      }
      await createEngine(connection);
      await adopt({ connection, schema: SCHEMA });
      await migrateTo(5, { connection, schema: SCHEMA, keepOldTables: false });
      await query(connection, [
        `alter role ${APP_LOGIN} password '${PASSWORD}'`,
      ]);
      if (rttMs !== undefined) {
        await distribute({ connection, schema: SCHEMA });
      }
      const pool = openPool({
        connection: addressOf(coordinator),
        database: { name: database },
        connections: 10,
      });
      closers.push(() => pool.close());
      const engine = StitchingEngine.open(knexConnection(connection), 1);
      closers.push(() => engine.close());
      const store = new PostgresCatalogStore({
        database: new PooledTenantDatabase(pool),
        pool,
      });
      const tenantId = await fill(connection, store, size);
      return new Side({
        name,
        connection,
        engine,
        store,
        tenantId,
        size,
        close,
      });
    } catch (error) {
      await close();
      throw error;
    }
  }

  private constructor(options: {
    name: string;
    connection: ClientConfig;
    engine: StitchingEngine;
    store: PostgresCatalogStore;
    tenantId: string;
    size: Size;
    close: () => Promise<void>;
  }) {
    const made = entitiesOf(0, options.size.entities);
    this.name = options.name;
    this.engine = options.engine;
    this.store = options.store;
    this.tenantId = options.tenantId;
    this.refs = createEntities(0, options.size.entities).map(({ ref }) => ref);
    this.owners = [
      ...new Set(
        made.flatMap(({ spec }) =>
          typeof spec?.owner === 'string' ? [spec.owner] : [],
        ),
      ),
    ];
    this.#connection = options.connection;
    this.#close = options.close;
  }

  /** Changes so many entities, by turns other ones. */
  async change(count: number, turn: number): Promise<object> {
    this.#revision += 1;
    const first = (turn * count) % (this.refs.length - count + 1);
    const added = entitiesOf(first, count).map(({ metadata, ...entity }) => ({
      ...entity,
      metadata: { ...metadata, description: `Revision ${this.#revision}` },
    }));
    return this.store.applyMutation(this.tenantId, {
      type: 'delta',
      added,
      removed: [],
    });
  }

  /** Of which versions the servers are. */
  async describeServers(): Promise<string> {
    const [{ versions }] = await query<{ versions: string }>(this.#connection, [
      `select concat_ws(' and ', 'PostgreSQL ' || current_setting('server_version'), 'Citus ' ||
                (select extversion from pg_extension where extname = 'citus')) as versions`,
    ]);
    return versions;
  }

  async remove(): Promise<void> {
    await this.#close();
  }
}
