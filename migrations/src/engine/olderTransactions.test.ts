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
    async function wait(connection: ClientConfig) {
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

    it('takes those transactions alone that have one, also of other logins', async () => {
      const login = `waiting_login_${process.pid}`;
      await changeRole(database.client, `create role ${login} login`);
      const connection = await connectionOf(database, login);
      await other.query('begin');
      const { rows } = await other.query('select pg_backend_pid() as pid');
      // It has no snapshot.
      await expect(wait(connection)).resolves.toEqual([]);
      await other.query('commit; begin isolation level repeatable read');
      await other.query('select 1');
      // Nothing is older before something was written.
      await database.client.query('select pg_current_xact_id()');
      await expect(wait(connection)).resolves.toEqual([
        `Waiting for the transactions of the processes ${rows[0].pid}: they are old`,
      ]);
      await changeRole(database.client, `drop role ${login}`);
    });
  },
);
