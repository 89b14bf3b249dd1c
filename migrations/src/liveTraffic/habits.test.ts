import { Client } from 'pg';
import { testedVersions } from '@internal/postgres/testUtils';
import { testSettings } from '../__testUtils__/catalogDatabase';
import { TenancyMigration } from '../engine/TenancyMigration';
import { phases } from '../phases';
import { silentReporter } from '../Reporter';
import type { PhaseNumber } from '../engine/Step';
import { rollback } from '../rollback/rollback';
import { CatalogServer } from './__testUtils__/CatalogServer';

// What writers of the live traffic do not do, because it takes more than statements: two-phase
// commits.

const PHASES: PhaseNumber[] = [1, 2, 3, 4, 5];

describe.each(testedVersions({ versions: 'newest' }))(
  'an application on PostgreSQL %s',
  version => {
    let server: CatalogServer;
    let application: Client;
    let entity: string;
    beforeEach(async () => {
      server = await CatalogServer.start(version, 30);
      application = new Client(server.oldApplication().login);
      await application.connect();
      const { rows } = await application.query(
        'select entity_id from entities order by entity_ref limit 1',
      );
      entity = rows[0].entity_id;
    });
    afterEach(async () => {
      await application.end();
      await server.stop();
    });

    /** Runs a command; `onWaiting` is called when it first waits for a lock. */
    async function migrate(
      change: (migration: TenancyMigration) => Promise<unknown>,
      onWaiting: () => Promise<unknown> = async () => undefined,
    ) {
      let waited: Promise<unknown> | undefined;
      const migration = await TenancyMigration.open({
        phases,
        connection: server.connection,
        command: 'test',
        mode: 'change',
        // Applications of both kinds are connected.
        settings: { ...testSettings, force: true },
        reporter: {
          ...silentReporter,
          info: message => {
            if (message.startsWith('Waiting for the transactions')) {
              waited ??= onWaiting();
            }
          },
          waiting: () => {
            waited ??= onWaiting();
          },
        },
      });
      try {
        await change(migration);
        await waited;
      } finally {
        await migration.close();
      }
      return waited !== undefined;
    }

    /** Goes on as the application that knows tenants. */
    async function deploy() {
      const { login, tenantId } = await server.newApplication();
      await application.end();
      application = new Client(login);
      await application.connect();
      await application.query(`select set_config('app.tenant_id', $1, false)`, [
        tenantId,
      ]);
      return tenantId!;
    }

    const commitPrepared = (phase: PhaseNumber) =>
      application.query(`commit prepared 'phase ${phase}'`);

    const typesOf = async () =>
      server.query(async client => {
        const { rows } = await client.query(
          `select type from relations where originating_entity_id = $1
              and type ~ '^during' order by 1`,
          [entity],
        );
        return rows.map(({ type }) => type);
      });

    it('may have prepared transactions open: each phase waits for them, and loses none', async () => {
      let tenant: string | undefined;
      for (const phase of PHASES) {
        if (phase === 4) {
          tenant = await deploy();
        }
        const [column, value] = tenant
          ? ['tenant_id, ', `'${tenant}', `]
          : ['', ''];
        await application.query('begin');
        await application.query(
          `insert into relations (${column}originating_entity_id, source_entity_ref, type, target_entity_ref)
           values (${value}$1, 'a', $2, 'b')`,
          [entity, `during phase ${phase}`],
        );
        await application.query(`prepare transaction 'phase ${phase}'`);
        await expect(
          migrate(
            migration => migration.runPhase(phase),
            () => commitPrepared(phase),
          ),
        ).resolves.toBe(true);
      }
      const types = PHASES.map(phase => `during phase ${phase}`);
      await expect(typesOf()).resolves.toEqual(types);
      await migrate(migration => rollback(migration));
      await expect(typesOf()).resolves.toEqual(types);
    });
  },
);
