import { createTestDatabases } from '@internal/postgres/testUtils';
import { Client } from 'pg';
import { createCatalogDatabase } from '../__testUtils__/catalogDatabase';
import type { CatalogDatabase } from '../__testUtils__/catalogDatabase';
import { changeRole, connectionOf } from '../__testUtils__/roles';
import { silentReporter } from '../engine/Reporter';
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

    /** Waits as a login, and ends the other transaction once that is waited for. */
    async function wait(login?: string) {
      const told: string[] = [];
      await database.migrate(
        ({ context }) => waitForOlderSnapshots(context, 'they are old'),
        {
          ...(login && { connection: await connectionOf(database, login) }),
          reporter: {
            ...silentReporter,
            info: message => {
              told.push(message);
              other.query('commit');
            },
            warn: message => told.push(message),
          },
        },
      );
      return told;
    }

    it('takes those alone that have one', async () => {
      await other.query('begin');
      await other.query('select 1');
      await expect(wait()).resolves.toEqual([]);
      await other.query('commit; begin isolation level repeatable read');
      const { rows } = await other.query('select pg_backend_pid() as pid');
      // Nothing is older before something was written.
      await database.client.query('select pg_current_xact_id()');
      await expect(wait()).resolves.toEqual([
        `Waiting for the transactions of the processes ${rows[0].pid}: they are old`,
      ]);
    });

    it('takes all transactions where the login may not see the snapshots of others', async () => {
      const login = `waiting_login_${process.pid}`;
      await changeRole(database.client, `create role ${login} login`);
      await other.query('begin');
      const { rows } = await other.query('select pg_backend_pid() as pid');
      await expect(wait(login)).resolves.toEqual([
        expect.stringContaining(
          `of the processes ${rows[0].pid}: they are old`,
        ),
        expect.stringContaining(`"grant pg_read_all_stats to ${login}"`),
      ]);
      await changeRole(database.client, `grant pg_read_all_stats to ${login}`);
      await other.query('begin');
      await other.query('select 1');
      await expect(wait(login)).resolves.toEqual([]);
      await changeRole(database.client, `drop role ${login}`);
    });
  },
);
