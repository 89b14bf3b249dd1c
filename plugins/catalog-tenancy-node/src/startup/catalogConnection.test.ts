import { mockServices } from '@backstage/backend-test-utils';
import { TestServer } from '@internal/catalog-testing/TestServer';
import {
  changeRole,
  createTestDatabases,
  waitUntil,
} from '@internal/postgres/testUtils';
import type { ClientConfig } from 'pg';
import type { TenancyConnection } from '../config/readTenancyConfig';
import { TenancyPool } from '../pool/TenancyPool';
import {
  createTenancyDatabase,
  type TenancyDatabase,
} from '../__testUtils__/tenancyDatabase';
import { tenancyConnection } from './catalogConnection';

const databases = createTestDatabases({ versions: 'newest' });

/** All but `Date`. */
const REAL_TIMERS = [
  'hrtime',
  'nextTick',
  'performance',
  'queueMicrotask',
  'setImmediate',
  'clearImmediate',
  'setInterval',
  'clearInterval',
  'setTimeout',
  'clearTimeout',
] as const;

describe.each(databases.eachSupportedId())(
  'a password that rotates on %s',
  id => {
    const user = `rotating_${process.pid}_${id.toLowerCase()}`;
    const environment = { ...process.env };
    let database: TenancyDatabase;
    let pool: TenancyPool | undefined;

    beforeEach(async () => {
      database = await createTenancyDatabase(databases, id);
      await changeRole(database.client, `create role ${user} login noinherit`);
    });

    afterEach(async () => {
      jest.useRealTimers();
      process.env = { ...environment };
      await pool?.close();
      await changeRole(database.client, `drop role ${user}`);
      await database.close();
    });

    const setPassword = (password: string) =>
      changeRole(database.client, `alter role ${user} password '${password}'`);

    /** As a backend connects whose own database has a password. */
    async function connect(difference: object): Promise<ClientConfig> {
      const { host, port, user: owner, password } = database.connection;
      const config = mockServices.rootConfig({
        data: {
          backend: {
            database: {
              client: 'pg',
              connection: { host, port, user: owner, password } as {},
              plugin: {
                catalog: {
                  connection: { database: database.connection.database },
                },
              },
            },
          },
        },
      });
      const connection = await tenancyConnection(
        config,
        difference as TenancyConnection,
      );
      pool = TenancyPool.create({
        connection,
        schema: 'tenancy',
        pool: { max: 2, idleTimeoutMs: 60_000, connectionTimeoutMs: 60_000 },
        logger: mockServices.rootLogger.mock(),
      });
      return connection;
    }

    const whoami = async () => {
      const rows = await pool!.query<{ name: string; pid: number }>(knex =>
        knex.raw('select session_user as name, pg_backend_pid() as pid'),
      );
      expect(rows[0].name).toBe(user);
      return rows[0].pid;
    };

    async function endSessions(): Promise<void> {
      await database.client.query(
        'select pg_terminate_backend(pid) from pg_stat_activity where usename = $1',
        [user],
      );
      await waitUntil('the sessions to end', async () => {
        const { rows } = await database.client.query(
          'select from pg_stat_activity where usename = $1',
          [user],
        );
        return rows.length === 0;
      });
    }

    /** The pool may learn from the next statement that its connection is gone. */
    async function reconnected(): Promise<void> {
      await endSessions();
      await waitUntil('the pool to reconnect', () =>
        whoami().then(
          () => true,
          () => false,
        ),
      );
    }

    it('is a token of RDS, which a connection gets anew once the earlier one has expired', async () => {
      process.env.AWS_ACCESS_KEY_ID = 'AKIAIOSFODNN7EXAMPLE';
      process.env.AWS_SECRET_ACCESS_KEY = 'only-for-tests';
      // A token has the time of its signature: as long as that stands still, the signer of AWS
      // makes the same one, and the server can have it for the user's password.
      jest.useFakeTimers({
        now: new Date('2026-01-01T12:00:00Z'),
        doNotFake: [...REAL_TIMERS],
      });
      const connection = await connect({
        type: 'rds',
        region: 'eu-central-1',
        user,
      });
      const token = connection.password as () => Promise<string>;
      const first = await token();
      await setPassword(first);
      await whoami();

      jest.setSystemTime(new Date('2026-01-01T12:20:00Z'));
      const second = await token();
      expect(second).not.toBe(first);
      await setPassword(second);
      await reconnected();
    });

    it('is a token of Azure, which a connection gets from the identity of the machine', async () => {
      const asked: string[] = [];
      let token = 'first-token';
      const identity = await new TestServer((request, response) => {
        asked.push(String(request.url));
        response.setHeader('Content-Type', 'application/json');
        response.end(
          JSON.stringify({
            access_token: token,
            expires_on: String(Math.floor(Date.now() / 1000) + 1),
            resource: 'https://ossrdbms-aad.database.windows.net',
            token_type: 'Bearer',
          }),
        );
      }).listen();
      process.env.IDENTITY_ENDPOINT = `${identity.url}/msi/token`;
      process.env.IDENTITY_HEADER = 'only-for-tests';
      try {
        await connect({
          type: 'azure',
          user,
          tokenCredential: { clientId: '11111111-1111-4111-8111-111111111111' },
        });
        await setPassword(token);
        await whoami();
        token = 'second-token';
        await setPassword(token);
        await reconnected();
        expect(asked[0]).toContain('11111111-1111-4111-8111-111111111111');
      } finally {
        await identity.stop();
      }
    });
  },
);
