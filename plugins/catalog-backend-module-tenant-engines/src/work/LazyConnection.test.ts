import { mockServices } from '@backstage/backend-test-utils';
import {
  createTestDatabases,
  waitUntil,
  withDeadline,
} from '@internal/postgres/testUtils';
import type { Knex } from 'knex';
import { once } from 'node:events';
import { Client, type ClientConfig, Query, type QueryResult } from 'pg';
import { startProxy } from './__testUtils__/startProxy';
import { EnginePool, type SchemaDatabase } from './EnginePool';
import type { StatementGate } from './LazyConnection';

const databases = createTestDatabases({ versions: 'newest' });

/** A promise that the test resolves. */
function later<T>() {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>(settle => {
    resolve = settle;
  });
  return { promise, resolve };
}

/** Takes each `select … from polled` for a poll. */
class Gate implements StatementGate {
  answer: Promise<'ask' | 'empty'> = Promise.resolve('ask');
  readonly events: string[] = [];

  pollOf(sql: string): string | undefined {
    return sql.includes('polled') ? 'poll' : undefined;
  }

  async admit(poll: string): Promise<'ask' | 'empty'> {
    this.events.push(`admit ${poll}`);
    return this.answer;
  }

  answered(poll: string, rows: number): void {
    this.events.push(`answered ${poll} ${rows}`);
  }

  returned(): void {
    this.events.push('returned');
  }
}

describe.each(databases.eachSupportedId())('a connection on %s', id => {
  let connection: ClientConfig;
  let client: Client;
  let pool: EnginePool;
  let gate: Gate;
  let database: SchemaDatabase;
  let knex: Knex;

  beforeAll(async () => {
    connection = await databases.create(id);
    client = new Client(connection);
    await client.connect();
    await client.query(
      `create schema acme;
       create table acme.polled (due int);
       create table acme.notes (note text primary key)`,
    );
  });

  beforeEach(async () => {
    await client.query('truncate acme.polled, acme.notes');
    pool = new EnginePool({
      applicationName: 'engines',
      connection,
      max: 2,
      logger: mockServices.logger.mock(),
    });
    gate = new Gate();
    database = pool.forSchema('acme', { gate });
    knex = database.knex;
  });

  afterEach(async () => {
    await pool.close();
  });

  afterAll(async () => {
    await client?.end();
  });

  const notes = async () => {
    const { rows } = await client.query<{ note: string }>(
      'select note from acme.notes order by 1',
    );
    return rows.map(({ note }) => note);
  };

  /** As upstream polls. */
  const poll = () =>
    knex.transaction(async tx => {
      const rows = await tx('polled').select('due').forUpdate().skipLocked();
      if (rows.length > 0) {
        await tx('polled').update({ due: 0 });
      }
      return rows;
    });

  /** Sessions of the pool, by PostgreSQL's own account. */
  const sessions = async () => {
    const { rows } = await client.query<{ count: string }>(
      `select count(*) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()
          and backend_type = 'client backend'`,
    );
    return Number(rows[0].count);
  };

  describe('without a statement', () => {
    it('takes no session for a transaction that is committed', async () => {
      await expect(knex.transaction(async () => 'done')).resolves.toBe('done');
      expect(await sessions()).toBe(0);
      expect(gate.events).toEqual([]);
    });
  });

  describe('of a poll', () => {
    it('has no session until the gate admits it', async () => {
      const admitted = later<'ask'>();
      gate.answer = admitted.promise;
      await client.query('insert into acme.polled values (1), (2)');
      const polling = poll();
      await waitUntil('the poll', () => gate.events.length > 0);
      expect(await sessions()).toBe(0);
      admitted.resolve('ask');
      await expect(polling).resolves.toEqual([{ due: 1 }, { due: 2 }]);
      expect(gate.events).toEqual([
        'admit poll',
        'answered poll 2',
        // After the update.
        'returned',
      ]);
    });

    it('is answered without rows and without a session where the gate says so', async () => {
      await client.query('insert into acme.polled values (1)');
      gate.answer = Promise.resolve('empty');
      await expect(poll()).resolves.toEqual([]);
      await expect(knex('polled').select()).resolves.toEqual([]);
      expect(await sessions()).toBe(0);
      expect(gate.events).toEqual(['admit poll', 'admit poll']);
    });

    it('may go on to another statement after it was answered without rows', async () => {
      gate.answer = Promise.resolve('empty');
      await knex.transaction(async tx => {
        await tx('polled').select();
        await tx('notes').insert({ note: 'of the transaction' });
        expect(await notes()).toEqual([]);
      });
      expect(await notes()).toEqual(['of the transaction']);
    });

    it('is given up with its connection', async () => {
      const admitted = later<'ask'>();
      gate.answer = admitted.promise;
      await expect(
        knex('polled').select().timeout(1, { cancel: true }),
      ).rejects.toThrow('Defined query timeout of 1ms exceeded');
      admitted.resolve('ask');
      await expect(knex('notes').select()).resolves.toEqual([]);
      expect(gate.events).toEqual(['admit poll', 'returned']);
      // The one of the notes.
      expect(pool.stats().acquires).toBe(1);
    });
  });

  it('tells the gate that it is given back, once others can see what it wrote', async () => {
    let seen: unknown;
    gate.returned = () => {
      seen ??= notes();
    };
    await knex.transaction(async tx => {
      await tx('notes').insert({ note: 'one' });
      await tx('notes').insert({ note: 'two' });
      expect(seen).toBeUndefined();
    });
    expect(await seen).toEqual(['one', 'two']);
  });

  it('asks PostgreSQL for nothing but the statements of the plugin', async () => {
    const texts: string[] = [];
    knex.on('query', ({ sql }) => texts.push(sql));
    await knex('notes').select();
    expect(texts).toEqual(['select * from "notes"']);
  });

  describe('of a transaction', () => {
    it('has savepoints that were set before its first statement', async () => {
      await knex.transaction(async tx => {
        await tx.transaction(async () => undefined);
        await expect(
          tx.transaction(async inner => {
            await inner('notes').insert({ note: 'lost' });
            throw new Error('of the test');
          }),
        ).rejects.toThrow('of the test');
        await tx('notes').insert({ note: 'kept' });
      });
      expect(await notes()).toEqual(['kept']);
    });

    it.each([
      [{ isolationLevel: 'serializable' as const }, 'serializable', 'off'],
      [
        { isolationLevel: 'repeatable read' as const },
        'repeatable read',
        'off',
      ],
      [{ readOnly: true }, 'read committed', 'on'],
      [
        { isolationLevel: 'serializable' as const, readOnly: true },
        'serializable',
        'on',
      ],
    ])('has its modes: %j', async (config, isolation, readOnly) => {
      await knex.transaction(async tx => {
        const { rows } = await tx.raw(
          `select current_setting('transaction_isolation') as isolation,
                  current_setting('transaction_read_only') as "readOnly"`,
        );
        expect(rows).toEqual([{ isolation, readOnly }]);
      }, config);
    });

    it('runs its statements in the order in which they came', async () => {
      await knex.transaction(async tx => {
        const [, count] = await Promise.all([
          tx('notes').insert({ note: 'one' }),
          tx('notes').count(),
          tx('notes').insert({ note: 'two' }),
        ]);
        expect(count).toEqual([{ count: '1' }]);
      });
      expect(await notes()).toEqual(['one', 'two']);
    });
  });

  it('lets Knex cancel its statement', async () => {
    const taken = await knex.client.acquireConnection();
    const cancelled = taken.query('select pg_sleep(600)').catch(String);
    await waitUntil('the statement', async () => {
      const { rows } = await client.query(
        `select from pg_stat_activity where query like '%pg_sleep(600)%' and state = 'active' and pid = $1`,
        [taken.processID],
      );
      return rows.length > 0;
    });
    await knex.client.cancelQuery(taken);
    await expect(cancelled).resolves.toContain('canceling statement');
    await knex.client.releaseConnection(taken);
    await expect(knex('notes').select()).resolves.toEqual([]);
  });

  it('takes what the driver takes: texts, values, callbacks, and queries with events', async () => {
    const taken = await knex.client.acquireConnection();
    try {
      await expect(taken.query('select 1 as one')).resolves.toMatchObject({
        rows: [{ one: 1 }],
      });
      await expect(
        taken.query('select $1::int as two', [2]),
      ).resolves.toMatchObject({ rows: [{ two: 2 }] });
      const answered = later<QueryResult>();
      taken.query(
        'select $1::int as three',
        [3],
        (_error: Error, result: QueryResult) => answered.resolve(result),
      );
      await expect(answered.promise).resolves.toMatchObject({
        rows: [{ three: 3 }],
      });
      const query = taken.query(new Query('select 4 as four'));
      const [row] = await withDeadline('the row', once(query, 'row'));
      expect(row).toEqual({ four: 4 });
    } finally {
      await knex.client.releaseConnection(taken);
    }
    // As Knex does at the end of a stream.
    await expect(knex.client.releaseConnection(taken)).resolves.toBeUndefined();
    expect(gate.events).toEqual(['returned']);
    const { acquires } = pool.stats();
    const [error] = await withDeadline(
      'the failure',
      once(taken.query(new Query('select 5')), 'error').catch(e => [e]),
    );
    expect(error.message).toContain('given back');
    expect(pool.stats().acquires).toBe(acquires);
  });

  it.each([
    ['select pg_sleep(600)', ''],
    [
      'insert into notes select pg_sleep(600)::text',
      ' before it answered: a change may or may not have been made',
    ],
  ])(
    'that is lost says so, without the statement that it ran: %s',
    async (sql, change) => {
      const proxy = await startProxy(connection);
      const other = new EnginePool({
        connection: proxy.connection,
        max: 1,
        logger: mockServices.logger.mock(),
      });
      const lost = other
        .forSchema('acme')
        .knex.transaction(async tx => {
          await tx('notes').select();
          await tx.raw(sql);
        })
        .catch(error => error);
      const pid = await waitUntil('the statement', async () => {
        const { rows } = await client.query(
          `select pid from pg_stat_activity
            where datname = current_database() and state = 'active' and query = $1`,
          [sql],
        );
        return rows[0]?.pid;
      });
      proxy.cut();
      const { name, message } = await lost;
      expect([name, message]).toEqual([
        'ServiceUnavailableError',
        `The connection to the database was lost${change}`,
      ]);
      // It does not notice, and would keep its locks.
      await client.query('select pg_terminate_backend($1)', [pid]);
      await other.close();
      proxy.close();
    },
  );
});
