import { mockServices } from '@backstage/backend-test-utils';
import {
  createTestDatabases,
  eventually,
  waitUntil,
  withDeadline,
} from '@internal/postgres/testUtils';
import type { Knex } from 'knex';
import { once } from 'node:events';
import { inspect } from 'node:util';
import { Client, type ClientConfig, Query } from 'pg';
import { startProxy } from './__testUtils__/startProxy';
import { BackgroundWork } from './BackgroundWork';
import { EnginePool } from './EnginePool';
import { type SessionLimits, SessionPool } from './SessionPool';

const TENANTS = ['acme', 'globex', 'initech'] as const;
const AGES = 3_600_000;

/** A session that a tenant holds, and what ends that. */
interface Hold {
  pid: number;
  release: () => Promise<void>;
}

const newest = createTestDatabases({ versions: 'newest' });
const every = createTestDatabases({ versions: 'every' });

let connection: ClientConfig;
let client: Client;
let pools: EnginePool[];

async function connectTo(database: ClientConfig) {
  connection = database;
  client = new Client(connection);
  await client.connect();
  for (const tenant of TENANTS) {
    await client.query(
      `create schema ${tenant};
       create table ${tenant}.notes as select '${tenant}' as note`,
    );
  }
  // Whatever calls it moves to another schema without a word of it in its own text.
  await client.query(
    `create function public.wander() returns void language plpgsql as
     $$ begin perform set_config('search_path', 'globex', false); end $$`,
  );
}

beforeEach(() => {
  pools = [];
});

afterEach(async () => {
  await Promise.all(pools.map(pool => pool.close()));
});

function createPool(
  options: Partial<ConstructorParameters<typeof EnginePool>[0]> = {},
) {
  const pool = new EnginePool({
    connection,
    max: 2,
    logger: mockServices.logger.mock(),
    ...options,
  });
  pools.push(pool);
  return pool;
}

function open(max: number, limits: Partial<SessionLimits> = {}) {
  const pool = createPool({
    max,
    limits: { keepMs: AGES, turnMs: AGES, turnUses: 0, lingerMs: 0, ...limits },
  });
  const [acme, globex, initech] = TENANTS.map(
    tenant => pool.forSchema(tenant).knex,
  );
  return { pool, acme, globex, initech };
}

async function pidOf(knex: Knex): Promise<number> {
  const { rows } = await knex.raw('select pg_backend_pid() as pid');
  return rows[0].pid;
}

async function hold(knex: Knex): Promise<Hold> {
  const taken = await knex.client.acquireConnection();
  const { rows } = await taken.query('select pg_backend_pid() as pid');
  return {
    pid: rows[0].pid,
    release: async () => knex.client.releaseConnection(taken),
  };
}

async function failureOf(work: Promise<unknown>): Promise<Error> {
  return work.then(
    () => new Error('of the test: it has not failed'),
    error => error,
  );
}

const noteOf = async (knex: Knex) => (await knex('notes').first()).note;

/** The session that works at a statement; that begins to. */
async function pidAt(sql: string): Promise<number> {
  return waitUntil(`the statement ${sql}`, async () => {
    const { rows } = await client.query(
      `select pid from pg_stat_activity
        where datname = current_database() and state = 'active'
          and pid <> pg_backend_pid() and strpos(query, $1) > 0`,
      [sql],
    );
    return rows[0]?.pid;
  });
}

async function isOpen(pid: number): Promise<boolean> {
  const { rows } = await client.query(
    'select from pg_stat_activity where pid = $1',
    [pid],
  );
  return rows.length > 0;
}

/** Its statement is not that of the next test then. */
async function endSession(pid: number): Promise<void> {
  await client.query('select pg_terminate_backend($1)', [pid]);
  await waitUntil('the end', async () => !(await isOpen(pid)));
}

/** A way to PostgreSQL that goes silent at the first statement. */
async function listenInSilence() {
  let onStatement = () => undefined as void;
  const statement = new Promise<void>(resolve => {
    onStatement = resolve;
  });
  const proxy = await startProxy(connection, (_number, message = '') => {
    // Query and Parse.
    const isStatement = ['Q', 'P'].includes(message);
    if (isStatement) {
      onStatement();
    }
    return isStatement;
  });
  return Object.assign(proxy, { statement });
}

describe.each(newest.eachSupportedId())('the pool of engines on %s', id => {
  beforeAll(async () => connectTo(await newest.create(id)));
  afterAll(async () => client?.end());

  it('gives up a session that PostgreSQL has not opened in time, whose place another one gets', async () => {
    const silent = await listenInSilence();
    try {
      const pool = createPool({
        connection: silent.connection,
        max: 1,
        limits: { openMs: 500 },
      });
      // More often than one tenant may have sessions.
      for (const attempt of ['first', 'second', 'third']) {
        await expect(
          withDeadline(
            `the ${attempt} failure`,
            pool.query('select 1', [], 'acme'),
          ),
        ).rejects.toThrow("PostgreSQL can't be reached");
      }
      expect(pool.stats().sessions).toBe(0);
    } finally {
      silent.close();
    }
  });

  it('keeps a session for others that was opened for what has given up meanwhile', async () => {
    const pool = new SessionPool({
      ...{ connection, max: 1, applicationName: 'engines' },
      logger: mockServices.logger.mock(),
    });
    const waiting = new AbortController();
    const given = failureOf(pool.acquire('acme', waiting.signal));
    waiting.abort(new Error('given up'));
    expect((await given).message).toBe('given up');
    await waitUntil('the session', () => pool.stats.idle === 1);
    expect(pool.stats).toMatchObject({ used: 0, acquires: 0 });
    await pool.close();
  });

  it('closes also while PostgreSQL does not open a session', async () => {
    const silent = await listenInSilence();
    try {
      const pool = createPool({
        connection: silent.connection,
        limits: { closeMs: 10 },
      });
      const failure = failureOf(pool.query('select 1', []));
      await withDeadline('a statement', silent.statement);
      await withDeadline('the close', pool.close());
      expect((await failure).message).toMatch("PostgreSQL can't be reached");
    } finally {
      silent.close();
    }
  });

  it('closes also while a statement is at work, after some time for it', async () => {
    const { acme, pool } = open(1, { closeMs: 10 });
    const failure = failureOf(acme.raw('select pg_sleep(600)'));
    const pid = await pidAt('pg_sleep(600)');
    try {
      await withDeadline('the close', pool.close());
      expect((await failure).message).toMatch('was lost');
    } finally {
      await endSession(pid);
    }
  });

  it('shows no password with its Knex, which errors and logs may have', () => {
    const { acme } = open(1);
    const shown = inspect(acme.client, { depth: 3 });
    expect(shown).toContain(connection.user);
    expect(shown).not.toContain(`'${connection.password}'`);
  });

  it('tells for how long a tenant has had a connection', async () => {
    const worked: string[] = [];
    const pool = createPool({ onWork: each => worked.push(each) });
    const schema = 'tenant_6f1c0a7e5a0f4d44a8a0c8d2f3b1e9d7';
    await client.query(`create schema ${schema}; create schema "${schema}_x"`);
    await pool.forSchema(schema).knex.raw('select 1');
    await pool.forSchema(`${schema}_x`).knex.raw('select 1');
    await pool.forSchema('globex').knex.raw('select 1');
    const tenantId = '6f1c0a7e-5a0f-4d44-a8a0-c8d2f3b1e9d7';
    expect(worked).toEqual([tenantId, tenantId]);
  });

  it('has each tenant work in its own schema', async () => {
    const { acme, globex, initech, pool } = open(2);
    const notes = await Promise.all(
      Array.from({ length: 20 }, () =>
        Promise.all([acme, globex, initech].map(noteOf)),
      ),
    );
    expect(new Set(notes.map(row => row.join()))).toEqual(
      new Set([TENANTS.join()]),
    );
    await expect(
      pool.query('select note from globex.notes where note = $1', ['globex']),
    ).resolves.toEqual([{ note: 'globex' }]);
    expect(pool.stats()).toMatchObject({ sessions: 2, waiting: 0 });
  });

  describe('gives a tenant', () => {
    it('the session that is in its schema', async () => {
      const { acme, globex, pool } = open(2);
      const pids = [await pidOf(acme), await pidOf(globex)];
      for (let round = 0; round < 5; round += 1) {
        expect([await pidOf(acme), await pidOf(globex)]).toEqual(pids);
      }
      expect(pool.stats()).toEqual({
        sessions: 2,
        used: 0,
        idle: 2,
        max: 2,
        waiting: 0,
        acquires: 12,
        switches: 0,
        opened: 2,
      });
    });

    it('a session before a tenant with many requests gets another', async () => {
      const { acme, globex, pool } = open(2);
      const holds = [await hold(acme), await hold(acme)];
      const served: string[] = [];
      const noisy = Array.from({ length: 50 }, () =>
        noteOf(acme).then(note => served.push(note)),
      );
      await waitUntil('the noisy one', () => pool.stats().waiting === 50);
      const quiet = noteOf(globex).then(note => served.push(note));
      await waitUntil('the quiet one', () => pool.stats().waiting === 51);
      await holds[0].release();
      await quiet;
      expect(served[0]).toBe('globex');
      await holds[1].release();
      await Promise.all(noisy);
      expect(served).toHaveLength(51);
    });

    it('the session that waited in vain for more of another one', async () => {
      const { acme, globex } = open(1, { turnUses: 50, lingerMs: 20 });
      // Timers come early where the event loop never waits.
      let isOver = false;
      const turn = () => {
        if (!isOver) {
          setImmediate(turn);
        }
      };
      turn();
      try {
        for (let round = 0; round < 20; round += 1) {
          await noteOf(acme);
          await expect(
            withDeadline('the session', noteOf(globex), { withinMs: 5_000 }),
          ).resolves.toBe('globex');
        }
      } finally {
        isOver = true;
      }
    });

    it('no more than half of the sessions while another one waits', async () => {
      const { acme, globex, pool } = open(2);
      const holds = await Promise.all([acme, acme].map(hold));
      const got: string[] = [];
      let free = () => {};
      const isFree = new Promise<void>(resolve => {
        free = resolve;
      });
      const waiting = [acme, globex].flatMap(knex =>
        Array.from({ length: 4 }, async () => {
          const { release } = await hold(knex);
          got.push(knex === acme ? 'acme' : 'globex');
          await isFree;
          await release();
        }),
      );
      await waitUntil('all', () => pool.stats().waiting === 8);
      for (const { release } of holds) {
        await release();
      }
      await waitUntil('two', () => got.length === 2);
      expect(got.sort()).toEqual(['acme', 'globex']);
      free();
      await Promise.all(waiting);
    });
  });

  describe('keeps sessions from a tenant that has its share in use', () => {
    it('so that one that becomes active finds some', async () => {
      const { acme, globex, pool } = open(4);
      const holds = await Promise.all([acme, acme].map(hold));
      const more = [noteOf(acme), noteOf(acme)];
      await waitUntil('both', () => pool.stats().waiting === 2);
      expect(pool.stats()).toMatchObject({ used: 2, waiting: 2 });
      // Nobody has given anything back.
      await expect(noteOf(globex)).resolves.toBe('globex');
      expect(pool.stats()).toMatchObject({ used: 2, waiting: 2 });
      // Nor do statements of no tenant count.
      await expect(pool.query('select 1 as one', [])).resolves.toEqual([
        { one: 1 },
      ]);

      await holds[0].release();
      await expect(Promise.all(more)).resolves.toEqual(['acme', 'acme']);
      await holds[1].release();
    });

    it('with what reads its tables by their schema', async () => {
      const { pool } = open(4, { lockMs: AGES });
      await client.query('begin; lock table acme.notes');
      const read = (tenant: string) =>
        pool.query(`select note from ${tenant}.notes`, [], tenant);
      const stuck = ['acme', 'acme', 'acme', 'acme'].map(read);
      try {
        await expect(
          withDeadline('another tenant', read('globex'), { withinMs: 10_000 }),
        ).resolves.toEqual([{ note: 'globex' }]);
      } finally {
        await client.query('rollback');
        await Promise.all(stuck);
      }
    });

    it('and says so to what has waited for too long', async () => {
      const { acme } = open(4, { waitMs: 50 });
      // PostgreSQL may take longer than that to open the session.
      const holds = [
        await eventually(() => hold(acme)),
        await eventually(() => hold(acme)),
      ];
      await expect(noteOf(acme)).rejects.toThrow(
        "The tenant's engine has all of the 2 sessions in use that one tenant may have",
      );
      await Promise.all(holds.map(({ release }) => release()));
    });
  });

  it('takes sessions back from tenants whose tables are locked, and others go on', async () => {
    const { acme, globex, initech, pool } = open(2, { lockMs: 100 });
    await client.query('begin; lock table acme.notes, globex.notes');
    try {
      const stuck = [acme, globex].map(noteOf).map(failureOf);
      await waitUntil('both', () => pool.stats().used === 2);
      await expect(
        withDeadline('another tenant', noteOf(initech)),
      ).resolves.toBe('initech');
      await expect(Promise.all(stuck)).resolves.toMatchObject([
        { code: '55P03' },
        { code: '55P03' },
      ]);
    } finally {
      await client.query('rollback');
    }
    await expect(noteOf(acme)).resolves.toBe('acme');
  });

  describe('ends a session', () => {
    it('that could not be switched', async () => {
      const { acme, pool } = open(1);
      const pid = await pidOf(acme);
      await expect(
        pool.forSchema('no \0 schema').knex.raw('select 1'),
      ).rejects.toThrow('invalid byte sequence');
      await expect(noteOf(acme)).resolves.toBe('acme');
      expect(await pidOf(acme)).not.toBe(pid);
      expect(await isOpen(pid)).toBe(false);
    });

    it.each<[string, Partial<SessionLimits>]>([
      ['has worked in as many schemas as it may', { schemas: 2 }],
      ['has been open for as long as it may', { ageMs: 0 }],
    ])('that %s', async (_, limits) => {
      const { acme, globex } = open(1, limits);
      const pid = await pidOf(acme);
      await noteOf(globex);
      expect(await pidOf(acme)).not.toBe(pid);
    });

    it('that nobody uses', async () => {
      const { acme, pool } = open(1, { idleMs: 10 });
      const pid = await pidOf(acme);
      await waitUntil('the end', () => pool.stats().sessions === 0);
      expect(await isOpen(pid)).toBe(false);
    });

    it('that PostgreSQL has ended, without a failure where it was idle', async () => {
      const { acme, pool } = open(1);
      const pid = await pidOf(acme);
      await client.query('select pg_terminate_backend($1)', [pid]);
      await waitUntil('the loss', () => pool.stats().sessions === 0);
      await expect(noteOf(acme)).resolves.toBe('acme');
      await expect(
        acme.raw('select pg_terminate_backend(pg_backend_pid())'),
      ).rejects.toThrow('terminating connection');
      await expect(noteOf(acme)).resolves.toBe('acme');
    });

    it.each([
      ['a transaction', 'select 1; begin'],
      ['a transaction that has failed', 'begin; select 1 / 0'],
      ['a temporary table', 'create temp table notes as select 1 as note'],
      ['a lock', 'select pg_advisory_lock(4711)'],
      ['a setting', "set statement_timeout = '1 h'"],
    ])('with %s in it', async (_, sql) => {
      const { acme, globex } = open(1);
      const pid = await pidOf(acme);
      await acme.raw(sql).catch(() => undefined);
      await expect(noteOf(globex)).resolves.toBe('globex');
      expect(await pidOf(globex)).not.toBe(pid);
    });

    it.each([
      // As Knex does for a statement that took too long.
      ['by Knex', 'of the test'],
      ['by its caller', undefined],
    ])(
      'on which a statement goes on that was given up %s',
      async (_, reason) => {
        const { acme, globex } = open(1);
        const taken = await acme.client.acquireConnection();
        const ended = taken.query('select pg_sleep(600)').catch(String);
        const pid = await pidAt('pg_sleep(600)');
        taken.__knex__disposed = reason;
        await acme.client.releaseConnection(taken);
        await expect(noteOf(globex)).resolves.toBe('globex');
        expect(await pidOf(globex)).not.toBe(pid);
        await expect(ended).resolves.toContain('was lost');
        await endSession(pid);
      },
    );
  });

  it('gives nothing to a schema that was closed, what waits included', async () => {
    const { acme, pool } = open(1);
    const { knex, close } = pool.forSchema('globex');
    const { release } = await hold(acme);
    const waits = failureOf(noteOf(knex));
    await waitUntil('the request', () => pool.stats().waiting === 1);
    close();
    expect(await waits).toMatchObject({
      name: 'ServiceUnavailableError',
      message: 'The engine has been stopped',
    });
    expect(pool.stats().waiting).toBe(0);
    await release();
    await expect(noteOf(knex)).rejects.toThrow('The engine has been stopped');
    await expect(noteOf(acme)).resolves.toBe('acme');
  });

  it('fails what waits when it is closed, and ends all sessions', async () => {
    const { acme, pool } = open(1);
    const { pid, release } = await hold(acme);
    const waits = failureOf(noteOf(acme));
    await waitUntil('the request', () => pool.stats().waiting === 1);
    const closed = pool.close();
    expect((await waits).message).toContain('is closed');
    await release();
    await withDeadline('the end', closed);
    pools = [];
    await waitUntil('no session', async () => !(await isOpen(pid)));
    await expect(noteOf(acme)).rejects.toThrow('is closed');
  });

  describe('with background work', () => {
    const workOf = () => {
      const lease = { isHeld: true };
      const work = new BackgroundWork({
        tenantSlug: 'acme',
        holdsLease: () => lease.isHeld,
        timing: { quietMs: 10, longestMs: AGES },
      });
      work.open();
      return { lease, work };
    };
    const refusal = {
      name: 'ServiceUnavailableError',
      message:
        "This process does not do the background work of the tenant 'acme' at the moment",
    };

    it('gives it nothing where another process does the work', async () => {
      const { acme } = open(1);
      const { lease, work } = workOf();
      await expect(work.run(() => noteOf(acme))).resolves.toBe('acme');
      lease.isHeld = false;
      await expect(work.run(() => noteOf(acme))).rejects.toMatchObject(refusal);
      await expect(noteOf(acme)).resolves.toBe('acme');
      // Of its connections, none counts any more.
      await withDeadline('the end of the work', work.finish());
    });

    it('fails a transaction as a whole whose first statement it has refused', async () => {
      const { acme } = open(1);
      const { lease, work } = workOf();
      const errors: Error[] = [];
      await work.run(() =>
        acme.transaction(async tx => {
          lease.isHeld = false;
          errors.push(await failureOf(tx('notes').insert({ note: 'one' })));
          lease.isHeld = true;
          errors.push(await failureOf(tx('notes').insert({ note: 'two' })));
        }),
      );
      expect(errors).toMatchObject([refusal, refusal]);
      await expect(acme('notes').select()).resolves.toEqual([{ note: 'acme' }]);
    });

    it('goes on after such a transaction as PostgreSQL does', async () => {
      const { acme } = open(1);
      const { lease, work } = workOf();
      const taken = await acme.client.acquireConnection();
      await work.run(async () => {
        await taken.query('begin;');
        lease.isHeld = false;
        await expect(taken.query('select')).rejects.toMatchObject(refusal);
        lease.isHeld = true;
        await expect(
          once(taken.query(new Query('select')), 'row'),
        ).rejects.toMatchObject(refusal);
        await expect(taken.query('savepoint one;')).rejects.toMatchObject(
          refusal,
        );
        await expect(taken.query('commit;')).resolves.toMatchObject({
          command: 'ROLLBACK',
        });
        await taken.query('begin;');
        await taken.query('commit;');
        // Outside of both.
        await taken.query('create table made_outside ()');
      });
      await client.query('drop table acme.made_outside');
      await acme.client.releaseConnection(taken);
    });

    it('gives it nothing when the lease has gone while it waited', async () => {
      const { acme, pool } = open(1);
      const { lease, work } = workOf();
      const { pid, release } = await hold(acme);
      const waits = failureOf(work.run(() => noteOf(acme)));
      await waitUntil('the request', () => pool.stats().waiting === 1);
      lease.isHeld = false;
      await release();
      expect(await waits).toMatchObject(refusal);
      expect(await pidOf(acme)).toBe(pid);
    });

    it('ends its waiting with the work', async () => {
      const { acme, pool } = open(1);
      const { work } = workOf();
      const { release } = await hold(acme);
      const waits = failureOf(work.run(() => noteOf(acme)));
      await waitUntil('the request', () => pool.stats().waiting === 1);
      expect(work.isQuiet).toBe(false);
      work.close();
      expect(await waits).toMatchObject(refusal);
      await withDeadline('the end of the work', work.finish());
      await release();
    });

    it('does not end the waiting of a start with it', async () => {
      const { acme, pool } = open(1);
      const { work } = workOf();
      const { release } = await hold(acme);
      const waits = work.start(() => noteOf(acme));
      await waitUntil('the request', () => pool.stats().waiting === 1);
      work.close();
      await release();
      await expect(waits).resolves.toBe('acme');
    });

    it('does not take a request for it, which gets a session that it returns', async () => {
      const { acme, pool } = open(1);
      const { work } = workOf();
      const { release } = await work.run(() => hold(acme));
      const waits = noteOf(acme).then(note => [
        note,
        BackgroundWork.current() === undefined,
      ]);
      await waitUntil('the request', () => pool.stats().waiting === 1);
      await work.run(async () => {
        work.close();
        await release();
      });
      await expect(waits).resolves.toEqual(['acme', true]);
      await expect(noteOf(acme)).resolves.toBe('acme');
    });
  });
});

describe.each(every.eachSupportedId())(
  'a session on %s whose search path a plugin has changed',
  id => {
    beforeAll(async () => connectTo(await every.create(id)));
    afterAll(async () => client?.end());

    it.each([
      'set search_path to globex',
      `select 1; set "search_path" = globex`,
      `select set_config('search_path', 'globex', false)`,
      `do $$ begin execute 'set sea' || 'rch_path to globex'; end $$`,
    ])('is not used again: %s', async sql => {
      const { acme } = open(1);
      const pid = await pidOf(acme);
      await acme.raw(sql.replaceAll('?', '\\?'));
      await expect(noteOf(acme)).resolves.toBe('acme');
      expect(await pidOf(acme)).not.toBe(pid);
    });

    it('does not begin a transaction in another schema, where a function has changed it', async () => {
      const { acme } = open(1);
      await acme.raw('select public.wander()');
      const seen: unknown[] = [];
      for (let attempt = 0; attempt < 2; attempt += 1) {
        await acme
          .transaction(tx => noteOf(tx))
          .then(
            note => seen.push(note),
            error => seen.push(error.message),
          );
      }
      expect(['acme', 'A function has changed the search path']).toContain(
        seen[0],
      );
      expect(seen[1]).toBe('acme');
    });

    it('may change it within a transaction', async () => {
      const { acme } = open(1);
      await acme.transaction(async tx => {
        await tx.raw('set local search_path to globex');
        await expect(noteOf(tx)).resolves.toBe('globex');
      });
      await expect(noteOf(acme)).resolves.toBe('acme');
    });
  },
);
