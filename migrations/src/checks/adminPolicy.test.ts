import { Client } from 'pg';
import {
  CHECKED,
  ManagedServer,
  managedServers,
  query,
  run,
} from '../__testUtils__/ManagedServer';
import { seedCatalog } from '../__testUtils__/seed';
import { runInProcess } from '../cli/__testUtils__/runCli';
import { EXIT_CODES } from '../errors';

describe.each(managedServers())(
  'the policy for portal_admin on PostgreSQL %s',
  version => {
    let server: ManagedServer;
    beforeAll(async () => {
      server = await ManagedServer.start(version);
    });
    afterAll(() => server.stop());

    it('finds each hole of the policy for portal_admin, and works on no table that it hides', async () => {
      const connection = await server.createDatabase();
      const client = new Client(connection);
      await client.connect();
      await seedCatalog(client, { entities: 1000, around: false });
      await client.end();
      await run(connection, 'all', ...CHECKED);
      const verify = () => runInProcess(connection, 'verify');
      const plan = () =>
        query(
          connection,
          `grant portal_app to current_user; set role portal_app; set search_path = tenancy; set plan_cache_mode = force_custom_plan;
           set app.tenant_id = '00000000-0000-0000-0000-000000000001';
           explain (costs off) select entity_ref from entities
             where tenant_id = '00000000-0000-0000-0000-000000000001' and final_entity @> '{"a": 1}'`,
        );
      const planned = await plan();

      const other = `managed_other_${process.pid}`;
      await query(connection, `create role ${other} login`);
      for (const { hole, finding, remedy } of [
        {
          hole: `grant portal_admin to ${other}`,
          finding: `The role ${other} inherits portal_admin, whose policy lets it read and write`,
          remedy: `revoke portal_admin from ${other}`,
        },
        {
          hole: 'alter table tenancy.entities no force row level security',
          finding: 'Row-level security is not forced on entities',
          remedy: 'alter table tenancy.entities force row level security',
        },
        {
          hole: 'create policy all_rows on tenancy.entities using (true)',
          finding: 'The policy all_rows on entities lets rows through',
          remedy: 'drop policy all_rows on tenancy.entities',
        },
        {
          hole: 'alter policy tenant_administration on tenancy.entities to public',
          finding:
            'does not see all rows of entities: the policy tenant_administration is missing there or another one',
          remedy:
            'alter policy tenant_administration on tenancy.entities to portal_admin',
        },
        {
          hole: 'create policy fewer on tenancy.relations as restrictive using (true)',
          finding: 'does not see all rows of relations: ',
          remedy: 'drop policy fewer on tenancy.relations',
        },
      ]) {
        await query(connection, hole);
        const { exitCode, stderr } = await verify();
        expect(stderr).toContain(finding);
        expect(exitCode).not.toBe(0);
        await query(connection, remedy);
        expect(await verify()).toMatchObject({ exitCode: 0 });
      }

      await query(
        connection,
        'drop policy tenant_administration on tenancy.entities',
      );
      expect(await plan()).toEqual(planned);
      const refusal = await runInProcess(connection, 'rollback');
      expect(refusal).toMatchObject({ exitCode: EXIT_CODES.refused });
      const [, script] = refusal.stderr.split('run as portal_admin:\n');
      await query(connection, script);
      await run(connection, 'verify');
      await run(connection, 'rollback');
      expect(
        await query(
          connection,
          'select count(*)::int as entities from tenancy.entities',
        ),
      ).toEqual([{ entities: 1000 }]);
    });
  },
);
