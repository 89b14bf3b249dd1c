import {
  createTestDatabases,
  dissolveCluster,
  formCluster,
} from '@internal/postgres/testUtils';
import { forEachTest } from '../__testUtils__/forEachTest';
import { runInProcess } from '../cli/__testUtils__/runCli';
import { migrateTo } from '../migrateTo';
import { DEFAULT_TENANT_ID } from '../schema/tables';
import { column, differences, faultsOf } from './__testUtils__/inspect';
import { createStockCatalog } from './__testUtils__/stockCatalog';
import { ACME, createTenant, giveEngine } from './__testUtils__/tenantEngine';

const databases = createTestDatabases({ versions: 'newest', citus: true });
const describeOnCitus = process.env.TENANCY_CITUS_URL
  ? describe
  : describe.skip;

const WITH_NUL = '{"metadata":{"description":"\\u0000"}}';

describeOnCitus('adopting on tables that Citus has distributed', () => {
  const catalog = forEachTest(() => createStockCatalog(databases, 'CITUS'));

  const migrate = () =>
    migrateTo(5, {
      connection: catalog.connection,
      createTables: true,
      force: true,
    });

  async function run(...args: string[]): Promise<string> {
    const { exitCode, stdout, stderr } = await runInProcess(
      catalog.connection,
      ...args,
    );
    expect([exitCode, stderr]).toEqual([0, expect.any(String)]);
    return stdout;
  }

  const owned = [['ownedBy', 'group:default/team']] as [string, string][];
  const refsOf = (tenantId: string) =>
    column<string>(
      catalog,
      `select entity_ref from tenancy.entities
        where tenant_id = $1 and deleted_at is null order by 1`,
      [tenantId],
    );
  const termsOf = (tenantId: string) =>
    column<string>(
      catalog,
      `select concat_ws(' ', e.entity_ref, s.value) from tenancy.entity_terms s
         join tenancy.entities e on e.tenant_id = s.tenant_id and e.entity_id = s.entity_id
        where s.tenant_id = $1 and s.key = 'Mdescription' order by 1`,
      [tenantId],
    );

  it('carries what a live catalog has, and what its engine does afterwards', async () => {
    await migrate();
    await run('distribute');
    const { engine } = catalog;
    await engine.ingest({ ref: 'group:default/team', description: 'team' });
    for (let i = 0; i < 30; i += 1) {
      await engine.ingest({
        ref: `component:default/s${i}`,
        description: `first ${i}`,
        relations: owned,
        parent: 'group:default/team',
        errors: '[{"message":"e"}]',
      });
    }
    await engine.ingest({ ref: 'component:default/nul', json: WITH_NUL });

    await run('adopt');
    expect(await differences(catalog)).toEqual([]);
    expect(await refsOf(DEFAULT_TENANT_ID)).toHaveLength(31);
    expect(await faultsOf(catalog)).toHaveLength(1);

    const id = await engine.ingest({
      ref: 'component:default/later',
      description: 'later',
      relations: owned,
    });
    await engine.stitch(id, {
      ref: 'component:default/later',
      description: 'changed',
    });
    await engine.remove('component:default/s0', 'component:default/s1');
    expect(await differences(catalog)).toEqual([]);
    const terms = await termsOf(DEFAULT_TENANT_ID);
    expect(terms).toContain('component:default/later changed');
    expect(terms).not.toContain('component:default/s0 first 0');

    // Again, as a backend does when it starts.
    await run('adopt');
    expect(await differences(catalog)).toEqual([]);
    expect(await run('verify')).toContain('holds');
  });

  it('gives a tenant an engine whose entities are its own', async () => {
    await migrate();
    await run('distribute');
    await createTenant(catalog, ACME, 'acme');
    const acme = await giveEngine(catalog, ACME);
    try {
      const ref = 'component:default/a';
      await acme.engine.ingest({ ref, description: 'ours', relations: owned });
      await acme.engine.ingest({
        ref: 'component:default/b',
        description: 'b',
        parent: ref,
      });
      expect(await refsOf(ACME)).toEqual([ref, 'component:default/b']);
      expect(await termsOf(ACME)).toEqual([
        `${ref} ours`,
        'component:default/b b',
      ]);
      expect(await refsOf(DEFAULT_TENANT_ID)).toEqual([]);
      await acme.engine.remove(ref);
      expect(await refsOf(ACME)).toEqual(['component:default/b']);
      await run('unadopt', '--tenant', 'acme');
      expect(await refsOf(ACME)).toEqual([]);
      expect(await run('verify')).toContain('holds');
    } finally {
      await acme.close();
    }
  });

  it('goes on with engines that are older than Citus, there and back', async () => {
    const { database } = catalog.connection;
    await dissolveCluster(database!, 'tenancy');
    const ref = 'component:default/a';
    const { engine } = catalog;
    const ids = [await engine.ingest({ ref, relations: owned })];
    await run('adopt');
    await migrate();
    await createTenant(catalog, ACME, 'acme');
    const acme = await giveEngine(catalog, ACME);
    const engines = [engine, acme.engine];
    try {
      ids.push(await acme.engine.ingest({ ref, relations: owned }));
      const change = async (description: string) => {
        for (const [index, each] of engines.entries()) {
          await each.stitch(ids[index], { ref, description });
          await each.ingest({
            ref: `component:default/${description}`,
            description,
            relations: owned,
            parent: ref,
          });
        }
        expect(await differences(catalog)).toEqual([]);
        for (const tenantId of [DEFAULT_TENANT_ID, ACME]) {
          expect(await termsOf(tenantId)).toEqual(
            expect.arrayContaining([
              `${ref} ${description}`,
              `component:default/${description} ${description}`,
            ]),
          );
        }
      };
      await change('before');
      await formCluster(database!);
      await run('distribute');
      await change('distributed');
      await run('undistribute');
      await change('back');
      for (const each of engines) {
        await each.remove('component:default/before');
      }
      expect(await refsOf(ACME)).toEqual([
        ref,
        'component:default/back',
        'component:default/distributed',
      ]);
      expect(await differences(catalog)).toEqual([]);
    } finally {
      await acme.close();
    }
  });
});
