import {
  citusServers,
  createTestDatabases,
  dissolveCluster,
  formCluster,
  withClient,
} from '@internal/postgres/testUtils';
import { distribute } from 'backstage-catalog-tenancy-migrations';
import { Client } from 'pg';
import {
  createTenancyDatabase,
  type TenancyDatabase,
} from '../__testUtils__/tenancyDatabase';
import { mockLogger } from '../__testUtils__/serviceMocks';
import { checkDatabase } from '../startup/checkDatabase';
import { entityRow, insertRows } from './__testUtils__/entityRow';
import { PooledTenantDatabase } from './PooledTenantDatabase';

// What only tables have that Citus has distributed.
const databases = createTestDatabases({ versions: 'newest', citus: true });
const describeOnCitus = process.env.TENANCY_CITUS_URL
  ? describe
  : describe.skip;

describeOnCitus('Tenants on the nodes of Citus', () => {
  let database: TenancyDatabase;
  let tenants: PooledTenantDatabase;
  let ours: string;
  let theirs: string;
  beforeAll(async () => {
    database = await createTenancyDatabase(databases, 'CITUS');
    tenants = new PooledTenantDatabase(database.pool);
    ours = await database.createTenant();
    theirs = await database.createTenant();
    for (const tenant of [ours, theirs]) {
      await tenants.query(tenant, scope => insertRows(scope, [entityRow('a')]));
    }
  });
  afterAll(() => database.close());

  /** Runs something on each node, without the coordinator. */
  async function onNodes(
    use: (client: Client) => Promise<void>,
    connection = database.appConnection,
  ) {
    const [, ...nodes] = await citusServers();
    for (const { host, port } of nodes) {
      await withClient({ ...connection, host, port }, async client => {
        await client.query('set search_path = tenancy');
        await use(client);
      });
    }
  }

  const shardsOf = async (client: Client) => {
    await client.query('set citus.override_table_visibility = off');
    const { rows } = await client.query<{ name: string }>(
      `select c.relname::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where n.nspname = 'tenancy' and c.relkind = 'r' and c.relname ~ '^(entities|entity_terms)_\\d+$'`,
    );
    return rows.map(({ name }) => name);
  };

  it.each([false, true])(
    'cannot be changed by what a statement selects (for the transaction: %p)',
    async local => {
      await expect(
        tenants.transaction(ours, async ({ query, knex }) => {
          await query(
            knex.raw(
              `select set_config('app.tenant_id', ?, ${local}) from entities where tenant_id = ?`,
              [theirs, ours],
            ),
          );
        }),
      ).rejects.toThrow('permission denied for function set_config');
    },
  );

  it.each(['run_command_on_workers', 'run_command_on_all_nodes'])(
    'cannot be got round by %s',
    async name => {
      await expect(
        tenants.query(ours, ({ knex }) =>
          knex.raw(`select * from ${name}('select 1')`),
        ),
      ).rejects.toThrow(`permission denied for function ${name}`);
    },
  );

  it('keep their shards closed to who has no tenant', async () => {
    await onNodes(async client => {
      const shards = await shardsOf(client);
      expect(shards.length).toBeGreaterThan(0);
      for (const name of [...shards, 'entities']) {
        await expect(client.query(`select from ${name}`)).rejects.toThrow(
          'permission denied for table',
        );
      }
    });
  });

  it('show nothing of another in their shards', async () => {
    await onNodes(async client => {
      await client.query(`set app.tenant_id = '${ours}'`);
      for (const name of await shardsOf(client)) {
        const { rows } = await client.query(
          `select from ${name} where tenant_id <> $1`,
          [ours],
        );
        expect(rows).toEqual([]);
      }
    });
  });

  it('leave their caller in doubt about a change whose node is lost as it commits', async () => {
    const asOwner = (use: (client: Client) => Promise<void>) =>
      onNodes(use, database.connection);
    await asOwner(async client => {
      await client.query(`
        set citus.enable_ddl_propagation = off;
        set citus.enable_manual_changes_to_shards = on;
        create function lost_at_commit() returns trigger language plpgsql as
          'begin perform pg_terminate_backend(pg_backend_pid()); return null; end'`);
      for (const name of await shardsOf(client)) {
        await client.query(
          `create constraint trigger lost_at_commit after insert on ${name}
             deferrable initially deferred for each row execute function lost_at_commit()`,
        );
      }
    });
    try {
      await expect(
        tenants.query(ours, scope => insertRows(scope, [entityRow('lost')])),
      ).rejects.toMatchObject({
        name: 'ServiceUnavailableError',
        outcomeUnknown: true,
      });
    } finally {
      await asOwner(async client => {
        await client.query(`
          set citus.enable_ddl_propagation = off;
          set citus.enable_manual_changes_to_shards = on;
          drop function lost_at_commit cascade`);
      });
    }
  });

  describe('are served', () => {
    const check = () => checkDatabase(database.pool, mockLogger());

    it('as they are made', async () => {
      await expect(check()).resolves.toBeUndefined();
    });

    it.each([
      [
        'alter table %s no force row level security',
        'alter table %s force row level security',
        'Row-level security is not enabled and forced on the shard',
      ],
      [
        'create policy other on %s using (true)',
        'drop policy other on %s',
        'The policies of the shard',
      ],
    ])('not after %s on a shard', async (change, back, problem) => {
      const [, node] = await citusServers();
      await withClient(
        { ...database.connection, host: node.host, port: node.port },
        async client => {
          await client.query('set citus.enable_manual_changes_to_shards = on');
          await client.query('set search_path = tenancy');
          const [shard] = await shardsOf(client);
          await client.query(change.replace('%s', shard));
          await expect(check()).rejects.toThrow(problem);
          await client.query(back.replace('%s', shard));
          await expect(check()).resolves.toBeUndefined();
        },
      );
    });

    it('not where the application may set a tenant on a node', async () => {
      const [, node] = await citusServers();
      await withClient(
        { ...database.connection, host: node.host, port: node.port },
        async client => {
          const right =
            'execute on function pg_catalog.set_config(text, text, boolean)';
          await client.query(`grant ${right} to public`);
          await expect(check()).rejects.toThrow('may call set_config');
          await client.query(`revoke ${right} from public`);
          await expect(check()).resolves.toBeUndefined();
        },
      );
    });
  });
});

describeOnCitus('Tenants that a backend serves without Citus', () => {
  let database: TenancyDatabase;
  beforeAll(async () => {
    database = await createTenancyDatabase(databases, 'CITUS', {
      distributed: false,
    });
    await dissolveCluster(database.connection.database!, 'tenancy');
    const [, ...nodes] = await citusServers();
    for (const node of nodes) {
      const client = new Client(node);
      await client.connect();
      await client.query('alter role portal_admin nologin');
      await client.end();
    }
  });
  afterAll(() => database.close());

  it('are served on when an operator distributes them', async () => {
    const tenants = new PooledTenantDatabase(
      database.createPool({ whenReady: true }),
    );
    const ours = await database.createTenant();
    const write = (name: string) =>
      tenants.query(ours, scope => insertRows(scope, [entityRow(name)]));
    const count = async () => {
      const [{ entities }] = await tenants.query<{ entities: number }>(
        ours,
        ({ table, knex }) =>
          table('entities').select(knex.raw('count(*)::int as entities')),
      );
      return entities;
    };
    await write('a');
    expect(await count()).toBe(1);
    await formCluster(database.connection.database!);
    expect(await count()).toBe(1);
    await distribute({ connection: database.connection, schema: 'tenancy' });
    expect(await count()).toBe(1);
    await write('b');
    expect(await count()).toBe(2);
  });
});
