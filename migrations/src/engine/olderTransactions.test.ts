import { changeRole, createTestDatabases } from '@internal/postgres/testUtils';
import { Client } from 'pg';
import type { ClientConfig } from 'pg';
import { createCatalogDatabase } from '../__testUtils__/catalogDatabase';
import type { CatalogDatabase } from '../__testUtils__/catalogDatabase';
import { connectionOf } from '../__testUtils__/roles';
import { silentReporter } from '../Reporter';
import { waitForOlderSnapshots } from './olderTransactions';

const databases = createTestDatabases();

describe.each(databases.eachSupportedId())(
  'waiting for older snapshots on %s',
  id => {
    let database: CatalogDatabase;
    let other: Client;
    beforeAll(async () => {
      database = await createCatalogDatabase(databases, id, { seed: false });
    });
    beforeEach(async () => {
      other = new Client(database.connection);
      await other.connect();
    });
    afterEach(() => other.end());
    afterAll(() => database.close());

    /** Waits, and ends the other transaction once that is waited for. */
    async function wait(connection = database.connection) {
      const told: string[] = [];
      await database.migrate(
        ({ context }) => waitForOlderSnapshots(context, 'they are old'),
        {
          connection,
          reporter: {
            ...silentReporter,
            info: message => {
              told.push(message);
              other.query('commit');
            },
          },
        },
      );
      return told;
    }

    /** What is told of a transaction without a snapshot, and of one that has one. */
    async function waitTwice(connection?: ClientConfig) {
      await other.query('begin');
      const { rows } = await other.query('select pg_backend_pid() as pid');
      const without = await wait(connection);
      await other.query('commit; begin isolation level repeatable read');
      await other.query('select 1');
      // Nothing is older before something was written.
      await database.client.query('select pg_current_xact_id()');
      return { without, waiting: await wait(connection), pid: rows[0].pid };
    }

    it('takes those transactions alone that have one', async () => {
      const { without, waiting, pid } = await waitTwice();
      expect(without).toEqual([]);
      expect(waiting).toEqual([
        `Waiting for the transactions of the processes ${pid}: they are old`,
      ]);
    });

    it('sees those of other logins, without any right to', async () => {
      const login = `waiting_login_${process.pid}`;
      await changeRole(database.client, `create role ${login} login`);
      const { without, waiting, pid } = await waitTwice(
        await connectionOf(database, login),
      );
      expect(without).toEqual([]);
      expect(waiting).toEqual([expect.stringContaining(`processes ${pid}:`)]);
      await changeRole(database.client, `drop role ${login}`);
    });
  },
);
