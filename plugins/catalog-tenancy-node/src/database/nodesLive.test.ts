import {
  citusServers,
  createTestDatabases,
  waitUntil,
  writeEntities,
} from '@internal/postgres/testUtils';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import {
  createTenancyDatabase,
  type TenancyDatabase,
} from '../__testUtils__/tenancyDatabase';
import { PostgresCatalogStore } from '../catalog/PostgresCatalogStore';
import { DatabaseUnavailableError } from '../pool/errors';
import { PooledTenantDatabase } from './PooledTenantDatabase';

// Tenants that are read and written without a pause while an operator distributes them, moves
// some to another node and back, and a node goes down: NODES_LIVE_TENANTS, …_MOVES,
// …_ENTITIES, …_WRITERS and …_READERS are the sizes, …_KILL a command that ends a node and
// starts it again, …_NODE the `host:port` of a server that is
// to be added, and …_REPORT the file that gets the figures.
const size = (name: string, usual: number) =>
  Number(process.env[`NODES_LIVE_${name}`] ?? usual);
const TENANTS = size('TENANTS', 6);
const MOVES = size('MOVES', 2);
const ENTITIES = size('ENTITIES', 10);
const WRITERS = size('WRITERS', 2);
const READERS = size('READERS', 2);
const {
  NODES_LIVE_KILL: KILL,
  NODES_LIVE_NODE: NEW_NODE,
  NODES_LIVE_REPORT: REPORT,
} = process.env;

const run = promisify(execFile);
const BIN = resolve(
  dirname(require.resolve('backstage-catalog-tenancy-cli/package.json')),
  'bin/backstage-catalog-tenancy-cli',
);

const databases = createTestDatabases({ versions: 'newest', citus: true });
const describeOnCitus = process.env.TENANCY_CITUS_URL
  ? describe
  : describe.skip;

/** What an entity may hold: a write whose answer was lost may have been made. */
interface Expected {
  confirmed: number;
  possible: number[];
}

/** What happened to the callers of one kind, in one part of the trial. */
interface Stalls {
  operations: number;
  failures: number;
  longestMs: number;
}

class LoadClient {
  readonly journal = new Map<string, Expected>();
  readonly faults: string[] = [];
  readonly parts: Record<string, { reads: Stalls; writes: Stalls }> = {};
  readonly #store: PostgresCatalogStore;
  readonly #database: PooledTenantDatabase;
  readonly #tenants: string[];
  #part = '';
  #stopped = false;
  #running: Promise<void>[] = [];
  #value = 0;

  constructor(
    store: PostgresCatalogStore,
    database: PooledTenantDatabase,
    tenants: string[],
  ) {
    this.#store = store;
    this.#database = database;
    this.#tenants = tenants;
    this.begin('before');
  }

  begin(part: string): void {
    this.#part = part;
    const none = () => ({ operations: 0, failures: 0, longestMs: 0 });
    this.parts[part] ??= { reads: none(), writes: none() };
  }

  start(): void {
    for (let writer = 0; writer < WRITERS; writer += 1) {
      const own = this.#tenants.filter((_, at) => at % WRITERS === writer);
      this.#running.push(this.#repeat('writes', turn => this.write(own, turn)));
    }
    for (let reader = 0; reader < READERS; reader += 1) {
      this.#running.push(
        this.#repeat('reads', turn => this.#read(turn * READERS + reader)),
      );
    }
  }

  /** Waits until as many reads and writes of this part have succeeded as there are tenants. */
  async untilAnswered(): Promise<void> {
    const { reads, writes } = this.parts[this.#part];
    await waitUntil('reads and writes that succeed', () =>
      [reads, writes].every(
        ({ operations, failures }) => operations - failures >= TENANTS,
      ),
    );
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#running);
  }

  async #repeat(
    kind: 'reads' | 'writes',
    operation: (turn: number) => Promise<boolean>,
  ): Promise<void> {
    for (let turn = 0; !this.#stopped; turn += 1) {
      const begun = performance.now();
      const done = await operation(turn).catch(error => {
        this.faults.push(String(error?.stack ?? error));
        return false;
      });
      const stalls = this.parts[this.#part][kind];
      stalls.operations += 1;
      stalls.failures += done ? 0 : 1;
      stalls.longestMs = Math.max(
        stalls.longestMs,
        Math.round(performance.now() - begun),
      );
    }
  }

  /** @returns whether it was answered */
  async write(own: string[], turn: number): Promise<boolean> {
    const tenant = own[turn % own.length];
    const name = `e${Math.floor(turn / own.length) % ENTITIES}`;
    const key = `${tenant}/${name}`;
    this.#value += 1;
    const value = this.#value;
    const expected = this.journal.get(key) ?? { confirmed: 0, possible: [] };
    this.journal.set(key, expected);
    expected.possible.push(value);
    try {
      await writeEntities(this.#database, tenant, {
        type: 'delta',
        added: [
          {
            apiVersion: 'backstage.io/v1alpha1',
            kind: 'Component',
            metadata: { name, description: `${tenant} ${value}` },
          },
        ],
        removed: [],
      });
    } catch (error) {
      if (!(error instanceof DatabaseUnavailableError) && !isTransient(error)) {
        throw error;
      }
      if (
        !(error instanceof DatabaseUnavailableError && error.outcomeUnknown)
      ) {
        expected.possible = expected.possible.filter(each => each !== value);
      }
      return false;
    }
    Object.assign(expected, { confirmed: value, possible: [] });
    return true;
  }

  async #read(turn: number): Promise<boolean> {
    const tenant = this.#tenants[turn % this.#tenants.length];
    const before = new Map(
      [...this.journal]
        .filter(([key]) => key.startsWith(tenant))
        .map(([key, { confirmed }]) => [key, confirmed]),
    );
    let found: Map<string, number>;
    try {
      found = await this.contents(tenant);
    } catch (error) {
      if (error instanceof DatabaseUnavailableError || isTransient(error)) {
        return false;
      }
      throw error;
    }
    for (const [key, confirmed] of before) {
      if ((found.get(key) ?? 0) < confirmed) {
        this.faults.push(`${key} has ${found.get(key)} after ${confirmed}`);
      }
    }
    return true;
  }

  /** The values of the tenant's entities. */
  async contents(tenant: string): Promise<Map<string, number>> {
    const found = new Map<string, number>();
    const items = await this.#store.queryEntities(tenant, {
      filter: { kind: 'component' },
      limit: 500,
    });
    for (const { metadata } of items) {
      const [owner, value] = String(metadata.description).split(' ');
      if (owner !== tenant) {
        this.faults.push(`${tenant} was shown ${metadata.description}`);
      }
      found.set(`${tenant}/${metadata.name}`, Number(value));
    }
    return found;
  }
}

/** Cut off by the end of a node, or by the exchange of the tables: worth another try. */
function isTransient(error: unknown): boolean {
  const { sqlState = '' } = error as { sqlState?: string };
  return /^(40|55|57|08)/.test(sqlState);
}

describeOnCitus('Tenants that are read and written', () => {
  let database: TenancyDatabase;
  let load: LoadClient;
  let tenants: string[];
  const slugs = Array.from({ length: TENANTS }, (_, at) => `live-${at}`);

  const operator = async (...args: string[]) => {
    const { host, port, user, database: name } = database.connection;
    const { stdout } = await run(process.execPath, [
      BIN,
      ...args,
      '--url',
      `postgresql://${user}@${host}:${port}/${name}`,
    ]);
    return stdout;
  };
  const distribution = async () =>
    JSON.parse(await operator('status', '--json')).distribution;

  beforeAll(async () => {
    database = await createTenancyDatabase(databases, 'CITUS', {
      distributed: false,
    });
    tenants = [];
    for (const slug of slugs) {
      tenants.push(await database.createTenant(slug));
    }
    const tenantDatabase = new PooledTenantDatabase(database.pool);
    load = new LoadClient(
      new PostgresCatalogStore({ database: tenantDatabase }),
      tenantDatabase,
      tenants,
    );
    load.start();
  });
  afterAll(async () => {
    await load?.stop();
    await database?.close();
  });

  it('lose no write and see no foreign row while they are distributed, moved, and cut off', async () => {
    load.begin('distribute');
    const told = [await operator('distribute')];

    const { tenants: places, nodes } = await distribution();
    const holders: string[] = nodes
      .filter((node: any) => !node.isCoordinator)
      .map((node: any) => node.name);
    for (let at = 0; at < MOVES; at += 1) {
      const slug = slugs[at];
      const { node: from } = places.find((each: any) => each.slug === slug);
      const to = holders.find(each => each !== from)!;
      load.begin('move');
      for (const target of [to, from]) {
        told.push(await operator('move-tenant', slug, '--to', target));
      }
    }

    load.begin('a node ends');
    if (KILL) {
      await run('sh', ['-c', KILL]);
    } else {
      const [, { host, port }] = await citusServers();
      const client = new Client({ ...database.connection, host, port });
      await client.connect();
      await client.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid()`,
      );
      await client.end();
    }
    load.begin('a node is back');
    await load.untilAnswered();

    if (NEW_NODE) {
      load.begin('a node is added');
      const [host, port] = NEW_NODE.split(':');
      const server = { ...database.connection, host, port: Number(port) };
      const admin = new Client({ ...server, database: 'postgres' });
      await admin.connect();
      await admin.query(`create database ${database.connection.database}`);
      await admin.end();
      const client = new Client(server);
      await client.connect();
      await client.query('create extension citus');
      await client.end();
      // A session that has a connection to the ended node would fail with it.
      const coordinator = new Client(database.connection);
      await coordinator.connect();
      // The rights on the template, of which this database is a copy: the new node has none.
      await coordinator.query(
        `delete from pg_dist_object where classid = 'pg_database'::regclass`,
      );
      await coordinator.query('select citus_add_node($1, $2)', [
        host,
        Number(port),
      ]);
      await coordinator.end();
      // It closes on the new node what it closes on all.
      await operator('distribute');
      told.push(await operator('move-tenant', slugs[0], '--to', NEW_NODE));
      await operator('verify');
    }

    load.begin('after');
    await load.stop();
    expect(load.faults).toEqual([]);
    for (const tenant of tenants) {
      const found = await load.contents(tenant);
      for (const [key, value] of found) {
        const { confirmed, possible } = load.journal.get(key)!;
        expect([confirmed, ...possible]).toContain(value);
      }
      expect(found.size).toBe(
        [...load.journal].filter(
          ([key, { confirmed }]) => key.startsWith(tenant) && confirmed > 0,
        ).length,
      );
    }
    expect(load.faults).toEqual([]);
    expect(await operator('verify')).toContain('holds');
    if (REPORT) {
      writeFileSync(
        REPORT,
        `${told.join('')}\n${JSON.stringify(load.parts, null, 1)}\n`,
      );
    }
  });
});
