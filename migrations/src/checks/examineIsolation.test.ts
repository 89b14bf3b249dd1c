import { createTestDatabases } from '@internal/postgres/testUtils';
import { forEachTest } from '../__testUtils__/forEachTest';
import { createStockCatalog } from '../adopt/__testUtils__/stockCatalog';
import { adopt } from '../adopt/library';
import { cleanup } from '../cleanup/cleanup';
import { givePartition, takeBackPartition } from '../partitions/move';
import { createCatalogTables } from '../__testUtils__/seed';
import { rollback } from '../rollback/rollback';
import { isSwapped } from '../schema/partitions';
import type { CatalogDatabase } from '../__testUtils__/catalogDatabase';
import { createCatalogDatabase } from '../__testUtils__/catalogDatabase';
import { runPhases } from '../__testUtils__/runPhases';
import { verify } from '../verify/verify';
import { examineIsolation } from './examineIsolation';

const databases = createTestDatabases();

const NOTHING = { missing: [], findings: [], deviations: [] };

/** What is found about `portal_app`. */
async function examine({ client, migrate }: CatalogDatabase) {
  const isPartitioned = await migrate(
    ({ context }) => isSwapped(context.executor),
    { mode: 'read' },
  );
  return examineIsolation({
    read: async <Row extends object>(sql: string, values: unknown[]) =>
      (await client.query<Row>(sql, values)).rows,
    schema: 'tenancy',
    user: 'portal_app',
    isPartitioned,
  });
}

describe.each(databases.eachSupportedId())('isolation on %s', id => {
  describe.each(['not adopted', 'adopted'])(
    'of a catalog that is %s',
    state => {
      it('has nothing to find in what the migration makes, there and back', async () => {
        const catalog = await createStockCatalog(databases, id);
        try {
          if (state === 'adopted') {
            await catalog.engine.ingest({ ref: 'component:default/a' });
            await adopt({ connection: catalog.connection });
          } else {
            await createCatalogTables(catalog.client);
          }
          await runPhases(catalog, 4);
          await expect(examine(catalog)).resolves.toEqual(NOTHING);
          await runPhases(catalog, 5);
          await expect(examine(catalog)).resolves.toEqual(NOTHING);
          await catalog.client.query(
            `insert into tenants (tenant_slug, tenant_name) values ('acme', 'Acme')`,
          );
          await catalog.migrate(({ context }) =>
            givePartition(context, 'acme'),
          );
          await expect(examine(catalog)).resolves.toEqual(NOTHING);
          await catalog.migrate(({ context }) =>
            takeBackPartition(context, 'acme'),
          );
          await expect(examine(catalog)).resolves.toEqual(NOTHING);
          // Tables that were created have no tables of before to go back to.
          if (state === 'not adopted') {
            await catalog.migrate(migration => rollback(migration, 4));
          }
          await expect(examine(catalog)).resolves.toEqual(NOTHING);
          await runPhases(catalog, 5);
          await catalog.migrate(({ context }) => cleanup(context), {
            settings: { force: true },
          });
          await expect(examine(catalog)).resolves.toEqual(NOTHING);
        } finally {
          await catalog.close();
        }
      });
    },
  );

  describe('after phase 5', () => {
    const database = forEachTest(() =>
      createCatalogDatabase(databases, id, {
        entities: 20,
        phase: 5,
      }),
    );

    const change = (sql: string) => database.client.query(sql);

    /** What `verify` says. */
    const verified = async () => {
      const { checks } = await database.migrate(verify, { mode: 'read' });
      return checks.flatMap(check => check.problems);
    };

    const WITH_BODY = `language plpgsql stable parallel safe as $$
begin
  raise exception 'permission denied for table %', table_name
    using errcode = 'insufficient_privilege',
          hint = 'No tenant is set. Set app.tenant_id to the id of a tenant first.';
end $$`;
    const CREATE = `create or replace function tenant_required(table_name text) returns uuid`;

    it.each([
      `${CREATE} language sql stable parallel safe as 'select null::uuid'`,
      `${CREATE} ${WITH_BODY} security definer`,
      'alter function tenant_required(text) leakproof',
      'alter function tenant_required(text) owner to catalog_report',
    ])('compares tenant_required with that of the migration: %s', async sql => {
      await change('revoke create on schema tenancy from catalog_report');
      await change(sql);
      const { findings } = await examine(database);
      expect(findings).toEqual([
        expect.objectContaining({
          problem:
            'The function tenancy.tenant_required(text), which the policies call without ' +
            'a tenant, is missing, or not that of the migration',
        }),
      ]);
      // As a log has it that keeps to one line.
      await change(findings[0].script!.replace(/\s+/g, ' '));
      await expect(examine(database)).resolves.toMatchObject({
        findings: [],
      });
    });

    it('reports a function tenant_required that is gone', async () => {
      await change('drop function tenant_required(text) cascade');
      const { findings } = await examine(database);
      expect(findings.map(({ problem }) => problem)).toContain(
        'The function tenancy.tenant_required(text), which the policies call without a tenant, is missing, or not that of the migration',
      );
      // The function before the policies that call it.
      for (const { script } of [...findings].reverse()) {
        await change(script!);
      }
      await expect(examine(database)).resolves.toMatchObject({ findings: [] });
    });

    it('has verify report what is found, as the startup of a backend does', async () => {
      await change(`
        create view public.everything as select * from entities;
        grant select on public.everything to portal_app;
        create function public.peek() returns setof jsonb language sql security definer
          as 'select final_entity from tenancy.entities'`);
      const { findings } = await examine(database);
      expect(findings).toHaveLength(2);
      const problems = await verified();
      expect(problems).toEqual(
        findings.map(({ problem, remedy }) => `${problem}: ${remedy}.`),
      );
      expect(problems).toEqual([
        expect.stringContaining('the view public.everything'),
        expect.stringContaining('may call public.peek()'),
      ]);
    });

    it('has verify report what differs without letting the application past it', async () => {
      await change(`
        grant usage on schema tenancy to catalog_report;
        grant select on entities_catch_all to catalog_report;
        alter table relations_catch_all no force row level security`);
      const { findings, deviations } = await examine(database);
      expect(findings).toEqual([]);
      expect(deviations).toHaveLength(2);
      const problems = await verified();
      expect(problems).toEqual([
        'Row-level security is not enabled and forced on the partition relations_catch_all: ' +
          'run "alter table tenancy.relations_catch_all enable row level security, force row level security".',
        'The partition entities_catch_all can be reached by catalog_report past the policies ' +
          'of its table: run "revoke all on table tenancy.entities_catch_all from catalog_report".',
      ]);
      for (const { remedy } of deviations) {
        await change(/"(.*)"/.exec(remedy)![1]);
      }
      await expect(verified()).resolves.toEqual([]);
    });

    describe('without what the application needs', () => {
      it.each([
        [
          'select on entities',
          'SELECT on entities',
          'grant select on table tenancy.entities to portal_app',
        ],
        [
          'select on entity_terms',
          'SELECT on entity_terms',
          'grant select on table tenancy.entity_terms to portal_app',
        ],
        [
          'usage on schema tenancy',
          'USAGE on the schema tenancy',
          'grant usage on schema tenancy to portal_app',
        ],
      ])('reports a missing %s with the GRANT', async (right, named, grant) => {
        await change(`revoke ${right} from portal_app`);
        const problems = await verified();
        expect(problems).toContain(
          `The database user 'portal_app' has no ${named}: run "${grant}".`,
        );
        await change(grant);
        await expect(verified()).resolves.toEqual([]);
      });

      it('reports a function of the policies that the application may not call', async () => {
        await change(
          'revoke execute on function tenant_required(text) from public, portal_app',
        );
        const problems = await verified();
        expect(problems).toContain(
          `The database user 'portal_app' has no EXECUTE on tenant_required: run "grant execute ` +
            'on function tenancy.tenant_required(text) to portal_app".',
        );
      });
    });
  });
});
