import { mockServices } from '@backstage/backend-test-utils';
import { createTestDatabases } from '@internal/postgres/testUtils';
import { Client, type ClientConfig } from 'pg';
import { TablesSession } from '../tables/TablesSession';
import { startProxy } from './__testUtils__/startProxy';
import { EnginePool } from './EnginePool';

const databases = createTestDatabases({ versions: 'newest' });

const SLEEP = 'select pg_sleep(3600)';

/** Waits also while timers are fake. */
async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isTrue())) {
    await new Promise(setImmediate);
  }
}

describe.each(databases.eachSupportedId())('the end on %s', id => {
  let client: Client;
  let connection: ClientConfig;

  beforeAll(async () => {
    connection = await databases.create(id);
    client = new Client(connection);
    await client.connect();
  });
  afterAll(() => client?.end());

  const sleeping = async (action = 'pid') => {
    const { rows } = await client.query(
      `select ${action} from pg_stat_activity
        where datname = current_database() and wait_event = 'PgSleep'`,
    );
    return rows.length > 0;
  };

  it.each<
    [
      string,
      (to: ClientConfig) => { answer: Promise<unknown>; close?: () => unknown },
    ]
  >([
    [
      'engines',
      to => {
        const pool = new EnginePool({
          connection: to,
          max: 1,
          logger: mockServices.logger.mock(),
        });
        const { knex } = pool.forSchema('public');
        return {
          answer: knex.transaction(trx => trx.raw(SLEEP)),
          close: () => pool.close(),
        };
      },
    ],
    [
      'tables',
      to => ({ answer: TablesSession.use(to, each => each.query(SLEEP)) }),
    ],
  ])(
    'of a session for %s is noticed where its connection is not closed',
    async (_, begin) => {
      let isFrozen = false;
      const proxy = await startProxy(
        connection,
        number => isFrozen && number === 1,
      );
      jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate'] });
      const { answer, close } = begin(proxy.connection);
      let isOver = false;
      const failure = answer
        .catch(error => error)
        .finally(() => {
          isOver = true;
        });
      const asked = async () => {
        const { accepted, open } = proxy;
        jest.advanceTimersByTime(30_000);
        await until(() => proxy.accepted > accepted);
        await until(() => proxy.open === open || isOver);
      };
      try {
        await until(sleeping);
        // It may take so long as the server works on it.
        await asked();
        await asked();
        expect(isOver).toBe(false);
        isFrozen = true;
        await sleeping('pg_terminate_backend(pid)');
        await until(async () => !(await sleeping()));
        await asked();
        expect(await failure).toMatchObject({
          message: expect.stringMatching(/was lost|terminated/),
        });
      } finally {
        jest.useRealTimers();
        await sleeping('pg_terminate_backend(pid)');
        proxy.close();
        await close?.();
      }
    },
  );
});
