import { mockServices } from '@backstage/backend-test-utils';
import { findPgBouncer, PgBouncer } from '@internal/postgres';
import { createTestDatabases, waitUntil } from '@internal/postgres/testUtils';
import type { Knex } from 'knex';
import { Client, type ClientConfig } from 'pg';
import { EnginePool } from './EnginePool';

const databases = createTestDatabases({ versions: 'newest' });
const executable = findPgBouncer();

if (!executable) {
  // eslint-disable-next-line no-console
  console.warn('No pgbouncer on the PATH: the tests behind it are left out');
}

const describeWithPgBouncer = executable ? describe : describe.skip;

const REFUSAL = {
  name: 'ServiceUnavailableError',
  message:
    'A pooler between the catalog engines and PostgreSQL shares one session among several ' +
    'connections, so that a statement could run in the schema of another tenant. Expected: ' +
    'session pooling (PgBouncer: pool_mode = session), or no pooler',
};

describeWithPgBouncer('Behind PgBouncer,', () => {
  describe.each(databases.eachSupportedId())('the engines on %s', id => {
    let connection: ClientConfig;
    const bouncers: PgBouncer[] = [];
    const pools: EnginePool[] = [];

    beforeAll(async () => {
      connection = await databases.create(id);
      const client = new Client(connection);
      await client.connect();
      for (const tenant of ['acme', 'globex', 'umbrella']) {
        await client.query(
          `create schema ${tenant};
           create table ${tenant}.notes as select '${tenant}' as note`,
        );
      }
      await client.end();
    });

    afterEach(async () => {
      await Promise.all(pools.splice(0).map(pool => pool.close()));
      await Promise.all(bouncers.splice(0).map(bouncer => bouncer.stop()));
    });

    /** PgBouncer with so many sessions of PostgreSQL, and a pool of engines behind it. */
    const start = async (
      mode: 'session' | 'statement' | 'transaction',
      { connections = 5, max = 2 } = {},
    ) => {
      const { host, port, user, password, database } = connection;
      const bouncer = await PgBouncer.start(
        executable!,
        {
          ...{ host: String(host), port: Number(port), user: String(user) },
          ...{ password: String(password), database: String(database) },
        },
        {
          connections,
          settings: { pool_mode: mode, admin_users: String(user) },
        },
      );
      bouncers.push(bouncer);
      const pool = new EnginePool({
        connection: bouncer.connection,
        max,
        limits: { keepMs: 0 },
        logger: mockServices.logger.mock(),
      });
      pools.push(pool);
      const [acme, globex, umbrella] = ['acme', 'globex', 'umbrella'].map(
        schema => pool.forSchema(schema).knex,
      );
      return { bouncer, pool, acme, globex, umbrella };
    };

    const noteOf = async (knex: Knex) => (await knex('notes').first()).note;

    it('work where it keeps sessions', async () => {
      // Three tenants on two sessions: one of these goes from one to another at least.
      const { acme, globex, umbrella, pool } = await start('session');
      const work = async (knex: Knex, tenant: string) => {
        for (let index = 0; index < 10; index += 1) {
          await expect(noteOf(knex)).resolves.toBe(tenant);
          await expect(knex.transaction(noteOf)).resolves.toBe(tenant);
        }
      };
      await Promise.all(
        [1, 2, 3].flatMap(() => [
          work(acme, 'acme'),
          work(globex, 'globex'),
          work(umbrella, 'umbrella'),
        ]),
      );
      expect(pool.stats().switches).toBeGreaterThan(0);
      const taken = await acme.client.acquireConnection();
      const { rows } = await taken.query('select pg_backend_pid() as pid');
      // By which Knex cancels a statement.
      expect(taken.processID).toBe(rows[0].pid);
      await acme.client.releaseConnection(taken);
    });

    it.each([5, 1])(
      'are refused where it pools transactions, on %s sessions',
      async connections => {
        const { acme, globex, pool } = await start('transaction', {
          connections,
        });
        for (const knex of [acme, globex]) {
          await expect(noteOf(knex)).rejects.toMatchObject(REFUSAL);
        }
        await expect(acme.transaction(noteOf)).rejects.toMatchObject(REFUSAL);
        await expect(pool.query('select 1', [])).rejects.toMatchObject(REFUSAL);
        await waitUntil('no session', () => pool.stats().sessions === 0);
      },
    );

    it('are refused where it pools statements', async () => {
      const { acme } = await start('statement');
      await expect(noteOf(acme)).rejects.toMatchObject({
        name: 'ServiceUnavailableError',
        message: expect.stringMatching(
          /\(PgBouncer: pool_mode = session\)\. .*transaction blocks not allowed/,
        ),
      });
    });

    it('are refused as long as it has no second session to look with', async () => {
      const { acme, pool, bouncer } = await start('session', {
        connections: 1,
      });
      await expect(noteOf(acme)).rejects.toMatchObject({
        name: 'ServiceUnavailableError',
        message: expect.stringContaining('pool_mode = session'),
      });
      await waitUntil('no session', () => pool.stats().sessions === 0);
      await administer(bouncer, 'set default_pool_size = 5');
      await expect(noteOf(acme)).resolves.toBe('acme');
    });

    it.each([
      ['a transaction', 'acme', true],
      ['the change to another schema', 'globex', false],
    ] as const)(
      'do nothing in the schema of another tenant after it was told to pool transactions, which %s finds',
      async (_, tenant, isTransaction) => {
        const { bouncer, pool, ...tenants } = await start('session', {
          connections: 5,
          max: 1,
        });
        const { acme, globex } = tenants;
        await expect(noteOf(acme)).resolves.toBe('acme');
        await administer(bouncer, "set pool_mode = 'transaction'");
        // The session that PgBouncer lends to the engines is lent to others from then on.
        await expect(noteOf(acme)).resolves.toBe('acme');
        const other = new Client(bouncer.connection);
        other.on('error', () => undefined);
        await other.connect();
        await other.query('set search_path = globex; begin');
        const first = tenants[tenant];
        await expect(
          isTransaction ? first.transaction(noteOf) : noteOf(first),
        ).rejects.toMatchObject(REFUSAL);
        await expect(noteOf(globex)).rejects.toMatchObject(REFUSAL);
        await other.end();
        await waitUntil('no session', () => pool.stats().sessions === 0);
      },
    );

    async function administer(bouncer: PgBouncer, command: string) {
      const client = new Client({
        ...bouncer.connection,
        database: 'pgbouncer',
      });
      await client.connect();
      await client.query(command);
      await client.end();
    }
  });
});
