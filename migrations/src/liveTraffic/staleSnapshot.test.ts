import { testedVersions, waitUntil } from '@internal/postgres/testUtils';
import { Client } from 'pg';
import {
  runInProcess,
  startCli,
  urlEnvironment,
} from '../cli/__testUtils__/runCli';
import type { CliResult } from '../cli/__testUtils__/runCli';
import { CatalogServer } from './__testUtils__/CatalogServer';
import { UP } from './__testUtils__/LiveMigration';

// A REPEATABLE READ transaction that has not come to the tables when they are
// swapped finds the other side under their names, in a snapshot that does not show
// what the last replay wrote there.

const INSERT = `insert into entities (tenant_id, entity_ref, entity_kind, entity_name, final_entity, hash)
  values (current_setting('app.tenant_id')::uuid, 'component:default/' || $1, 'component', $1, '{}', '')`;
const DELETE = 'delete from entities where entity_ref = $1';
const UPDATE = `update entities set hash = '' where entity_ref = $1`;
const SELECT = 'select from entities where entity_ref = $1';

describe.each(testedVersions())(
  'a snapshot from before the swap on PostgreSQL %s',
  version => {
    let server: CatalogServer;
    const run = (...args: string[]) => runInProcess(server.connection, ...args);
    beforeAll(async () => {
      server = await CatalogServer.start(version, 50);
      for (const args of UP.slice(0, 4)) {
        const { exitCode, stderr } = await run(...args);
        if (exitCode !== 0) {
          throw new Error(stderr);
        }
      }
    });
    afterAll(() => server.stop());

    // As in tables that are large: no other row is looked at on the way.
    async function login(begin: string): Promise<Client> {
      const { login: config, tenantId } = await server.newApplication();
      const client = new Client(config);
      await client.connect();
      await client.query('set enable_seqscan = off');
      await client.query(begin);
      await client.query(`select set_config('app.tenant_id', $1, true)`, [
        tenantId,
      ]);
      return client;
    }

    async function swapped(
      command: Promise<CliResult>,
      kind: string,
    ): Promise<void> {
      const ended = command.then(({ stderr }) => {
        throw new Error(`The command ended before its time:\n${stderr}`);
      });
      ended.catch(() => undefined);
      const isSwapped = async () => {
        const { rows } = await server.query(client =>
          client.query(
            `select from pg_class where oid = 'entities'::regclass and relkind = $1`,
            [kind],
          ),
        );
        return rows.length > 0;
      };
      await Promise.race([waitUntil('the swap', isSwapped), ended]);
    }

    it.each([
      [['phase5'], 'p', DELETE],
      [['rollback', '--force'], 'r', DELETE],
      [['phase5'], 'p', UPDATE],
      [['rollback', '--force'], 'r', UPDATE],
      [['phase5'], 'p', SELECT],
      [['rollback', '--force'], 'r', SELECT],
    ])(
      'fails to serialize after %j, rather than missing rows',
      async (args, kind, statement) => {
        const stale = await login('begin isolation level repeatable read');
        const other = await login('begin');
        const late = `${args[0]}-${statement.slice(0, 6)}`;
        await other.query(INSERT, [late]);
        await other.query('commit');
        await other.end();

        const command = run(...args);
        await swapped(command, kind);
        // With statistics, rows are found by entity_ref alone where it is unique:
        // no row is met then whose tenant could be looked at.
        await server.query(client => client.query('analyze entities'));
        const rows = stale
          .query(statement, [`component:default/${late}`])
          .then(({ rowCount }) => rowCount);
        await expect(rows).rejects.toMatchObject({ code: '40001' });
        await stale.query('rollback');
        await stale.end();
        await expect(command).resolves.toMatchObject({ exitCode: 0 });
      },
    );
  },
);

describe.each(testedVersions())(
  'a snapshot from before the backfill on PostgreSQL %s',
  version => {
    it('can still insert rows, because the constraints wait', async () => {
      const server = await CatalogServer.start(version, 50);
      const stale = new Client(server.oldApplication().login);
      try {
        await runInProcess(server.connection, ...UP[0]);
        await stale.connect();
        await stale.query('begin isolation level repeatable read');
        await stale.query('select count(*) from pg_class');

        const env = urlEnvironment(server.connection);
        const command = startCli(['phase2'], { env });
        await command.said('see rows without a tenant');
        await stale.query(
          `insert into entities (entity_ref, entity_kind, entity_name, final_entity, hash)
           values ('component:default/late', 'component', 'late', '{}', '')`,
        );
        // It sees this row without a tenant.
        await expect(
          stale.query(`update entities set hash = ''
                        where entity_ref = 'component:default/service-1'`),
        ).rejects.toMatchObject({ code: '40001' });
        await stale.query('commit');
        await expect(command.result).resolves.toMatchObject({ exitCode: 0 });
      } finally {
        await stale.end();
        await server.stop();
      }
    });
  },
);
