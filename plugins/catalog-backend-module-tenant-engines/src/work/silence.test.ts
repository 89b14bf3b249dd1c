import { mockServices } from '@backstage/backend-test-utils';
import { createTestDatabases } from '@internal/postgres/testUtils';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Client, type ClientConfig } from 'pg';
import { TablesSession } from '../tables/TablesSession';
import { EnginePool } from './EnginePool';

const databases = createTestDatabases({ versions: 'newest' });

const SLEEP = 'select pg_sleep(3600)';

/** Waits also while timers are fake. */
async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isTrue())) {
    await new Promise(setImmediate);
  }
}

/** A way to PostgreSQL that loses what goes over its first connection, once that is frozen. */
async function startProxy({ host, port, ...connection }: ClientConfig) {
  const all = new Set<Socket>();
  const open = new Set<Socket>();
  let accepted = 0;
  let isFrozen = false;
  const server = createServer(near => {
    accepted += 1;
    const isFirst = accepted === 1;
    const far = connect(port!, host!);
    open.add(near);
    near.on('close', () => open.delete(near));
    const forward = (from: Socket, to: Socket) =>
      all.add(
        from
          .on('data', data => (isFirst && isFrozen) || to.write(data))
          .on('error', () => undefined)
          .on('close', () => (isFirst && isFrozen) || to.destroy()),
      );
    forward(near, far);
    forward(far, near);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    connection: {
      ...connection,
      host: '127.0.0.1',
      port: (server.address() as AddressInfo).port,
    },
    get accepted() {
      return accepted;
    },
    get open() {
      return open.size;
    },
    freeze: () => {
      isFrozen = true;
    },
    close: () => {
      all.forEach(socket => socket.destroy());
      server.close();
    },
  };
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
      const proxy = await startProxy(connection);
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
        proxy.freeze();
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
