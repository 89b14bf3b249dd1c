import {
  citusServers,
  createTestDatabases,
  dissolveCluster,
  formCluster,
} from '@internal/postgres/testUtils';
import { Client } from 'pg';
import { openCatalogDatabase } from '../__testUtils__/catalogDatabase';
import type { CatalogDatabase } from '../__testUtils__/catalogDatabase';
import { catalogSnapshot } from '../__testUtils__/catalogSnapshot';
import { runInProcess } from '../cli/__testUtils__/runCli';
import { migrateTo } from '../migrateTo';
import { verify } from '../verify/verify';
import { SHARDED_TABLES } from '../schema/citus';
import { refuseDependentsOfDistributed } from './obstacles';
import { examineShards } from './shards';

const databases = createTestDatabases({ versions: 'newest', citus: true });
const [[id]] = databases.eachSupportedId();
const describeOnCitus = id === 'CITUS' ? describe : describe.skip;
const describeWithout = id === 'CITUS' ? describe.skip : describe;

/** A migrated catalog without its old tables, with other tenants. */
async function createMigrated(): Promise<CatalogDatabase> {
  const connection = await databases.create(id);
  await migrateTo(5, {
    connection,
    createTables: true,
    force: true,
  });
  const database = await openCatalogDatabase(connection);
  const { client } = database;
  await client.query(
    `insert into tenants (tenant_slug, tenant_name)
     select 't' || i, 'T' || i from generate_series(1, 6) i`,
  );
  await client.query(
    `insert into entities (tenant_id, entity_ref, entity_kind, entity_name, final_entity, hash)
     select tenant_id, 'component:default/e' || i, 'component', 'e' || i,
            jsonb_build_object('kind', 'Component', 'metadata', jsonb_build_object('name', 'e' || i)), 'h'
       from tenants, generate_series(1, 20) i where tenant_slug <> 'default'`,
  );
  return database;
}

/** Every row of the tables, in an order of its own. */
async function rowsOf({ client }: CatalogDatabase) {
  const all: Record<string, unknown[]> = {};
  for (const table of [...SHARDED_TABLES, 'tenants']) {
    const { rows } = await client.query<{ row: string }>(
      `select to_jsonb(t)::text as row from ${table} t`,
    );
    all[table] = rows.map(({ row }) => row).sort();
  }
  return all;
}

describeWithout('a server without Citus', () => {
  it('refuses to distribute, and to move tenants', async () => {
    const database = await createMigrated();
    try {
      const distributed = await runInProcess(database.connection, 'distribute');
      expect(distributed).toMatchObject({ exitCode: 3 });
      expect(distributed.stderr).toContain('has no extension citus');
      const back = await runInProcess(database.connection, 'undistribute');
      expect(back).toMatchObject({ exitCode: 0 });
      expect(back.stdout).toContain('are not distributed');
      const moved = await runInProcess(
        database.connection,
        'move-tenant',
        't1',
        '--to',
        'localhost:5432',
      );
      expect(moved).toMatchObject({ exitCode: 3 });
      expect(moved.stderr).toContain('are not distributed');
    } finally {
      await database.close();
    }
  });
});

describeWithout('the way back of a distribution', () => {
  it('is refused for what hangs on the tables, but for what is ours', async () => {
    const database = await createMigrated();
    const refuse = () =>
      database.migrate(({ context }) =>
        refuseDependentsOfDistributed(context.executor),
      );
    try {
      await expect(refuse()).resolves.toBeUndefined();
      await database.client.query(
        `create view public.mine as select entity_ref from entities;
         create table public.bills (tenant uuid constraint payer references tenants)`,
      );
      await expect(refuse()).rejects.toMatchObject({
        exitCode: 3,
        message: expect.stringMatching(
          /\n {4}alter table public.bills drop constraint payer;\n {4}drop view public.mine;$|\n {4}drop view public.mine;\n {4}alter table public.bills drop constraint payer;$/,
        ),
      });
    } finally {
      await database.close();
    }
  });
});

describeOnCitus('a catalog on Citus', () => {
  let database: CatalogDatabase;
  let nodes: string[];
  const run = (...args: string[]) => runInProcess(database.connection, ...args);
  const statusOf = async () =>
    JSON.parse((await run('status', '--json')).stdout).distribution;
  const problems = async () => {
    const { checks } = await database.migrate(verify, { mode: 'read' });
    return checks.flatMap(check => check.problems);
  };
  const findings = () =>
    examineShards({
      read: async <Row extends object>(sql: string, values: unknown[]) =>
        (await database.client.query<Row>(sql, values)).rows,
      schema: 'tenancy',
    });

  beforeAll(async () => {
    database = await createMigrated();
    nodes = (await citusServers())
      .slice(1)
      .map(({ host, port }) => `${host}:${port}`);
  });
  afterAll(() => database?.close());

  it('is refused for everything that is in the way, and not changed', async () => {
    await database.client.query(
      `create view everything as select entity_ref from entities;
       create table other (id int);`,
    );
    await database.client.query(
      `create policy more on relations as restrictive using (true)`,
    );
    const before = await catalogSnapshot(database.client);
    const { exitCode, stderr } = await run('distribute');
    expect(exitCode).toBe(3);
    expect(stderr).toContain(
      'The new tables would not have the view everything',
    );
    expect(stderr).toContain('relations has the policy more');
    await expect(catalogSnapshot(database.client)).resolves.toEqual(before);
    await database.client.query('drop view everything');
    await database.client.query('drop policy more on relations');
    await database.client.query('drop table other');
  });

  describe('that is distributed', () => {
    let before: Record<string, unknown[]>;
    let layout: unknown;
    let done: unknown;
    beforeAll(async () => {
      before = await rowsOf(database);
      layout = await catalogSnapshot(database.client);
      // What Citus does to one of two transactions that wait for each other.
      await database.client.query(`
        create sequence public.attempts;
        create function public.end_the_first() returns event_trigger language plpgsql as $$
          begin
            if nextval('public.attempts') = 1 then
              raise exception 'deadlock' using errcode = 'deadlock_detected';
            end if;
          end $$;
        create event trigger end_the_first on ddl_command_end when tag in ('CREATE SCHEMA')
          execute function public.end_the_first()`);
      done = await run('distribute');
    });

    it('was tried again after a deadlock', async () => {
      const { client } = database;
      const { rows } = await client.query(
        'select last_value::int as attempts from public.attempts',
      );
      expect(rows).toEqual([{ attempts: 2 }]);
      await client.query(`
        drop event trigger end_the_first;
        drop function public.end_the_first();
        drop sequence public.attempts`);
    });

    it('is told how many rows were compared', () => {
      expect(done).toMatchObject({
        exitCode: 0,
        stdout: expect.stringContaining('equal before and after: entities 120'),
      });
    });

    it('has the same rows, and is verified', async () => {
      await expect(rowsOf(database)).resolves.toEqual(before);
      await expect(problems()).resolves.toEqual([]);
      await expect(findings()).resolves.toEqual([]);
    });

    it('is not distributed again, but its nodes are prepared again', async () => {
      // As it is when another database of the same servers has been brought back.
      await database.client.query('alter role portal_admin nologin');
      const { exitCode, stdout } = await run('distribute');
      expect([exitCode, stdout]).toEqual([
        0,
        expect.stringContaining('are distributed already'),
      ]);
      expect(new Set(await loginsOfAdmin())).toEqual(new Set([true]));
    });

    it('shows its nodes, and where each tenant is', async () => {
      const distribution = await statusOf();
      expect(distribution.nodes.map((node: any) => node.name)).toEqual(
        expect.arrayContaining(nodes),
      );
      expect(
        distribution.tenants.map(({ slug }: { slug: string }) => slug),
      ).toEqual(['default', 't1', 't2', 't3', 't4', 't5', 't6']);
      const { stdout } = await run('status');
      expect(stdout).toContain('distributed by Citus');
    });

    it.each([['partition', 't1'], ['unpartition', 't1'], ['rollback']])(
      'is refused %s',
      async (...args) => {
        const { exitCode, stderr } = await run(...args);
        expect(exitCode).toBe(3);
        expect(stderr).toContain('are distributed over the nodes of Citus');
      },
    );

    it('does not come back while a view or a key hangs on the tables', async () => {
      await database.client.query(
        'create view public.mine as select entity_ref from entities',
      );
      const { exitCode, stderr } = await run('undistribute');
      await database.client.query('drop view public.mine');
      expect(stderr).toContain('\n    drop view public.mine;');
      expect(exitCode).toBe(3);
    });

    it('moves a tenant and back', async () => {
      const placeOf = async () =>
        (await statusOf()).tenants.find(
          ({ slug }: { slug: string }) => slug === 't1',
        );
      const { node: from } = await placeOf();
      const to = nodes.find(node => node !== from)!;
      for (const target of [to, from]) {
        const moved = await run('move-tenant', 't1', '--to', target);
        expect([moved.exitCode, moved.stdout]).toEqual([
          0,
          expect.stringContaining(`is on ${target}`),
        ]);
        expect(await placeOf()).toMatchObject({ node: target, neighbours: 0 });
      }
      await expect(rowsOf(database)).resolves.toEqual(before);
      await expect(problems()).resolves.toEqual([]);
    });

    it('moves none to what holds no rows of tenants', async () => {
      const { exitCode, stderr } = await run(
        'move-tenant',
        't1',
        '--to',
        'nowhere:1',
      );
      expect(exitCode).toBe(2);
      expect(stderr).toContain('holds rows of tenants. Expected one of');
    });

    it('comes back as it was', async () => {
      const { exitCode, stdout } = await run('undistribute');
      expect([exitCode, stdout]).toEqual([
        0,
        expect.stringContaining('are on the coordinator'),
      ]);
      await expect(rowsOf(database)).resolves.toEqual(before);
      await expect(catalogSnapshot(database.client)).resolves.toEqual(layout);
      await expect(problems()).resolves.toEqual([]);
      expect(new Set(await loginsOfAdmin())).toEqual(new Set([false]));
    });
  });
});

describeOnCitus('a node that is added to a distributed catalog', () => {
  it('gets tenants after the command has prepared it', async () => {
    const database = await createMigrated();
    try {
      const { database: name } = database.connection;
      const [, first, added] = await citusServers();
      await dissolveCluster(name!, 'tenancy');
      await formCluster(name!, [first]);
      const run = (...args: string[]) =>
        runInProcess(database.connection, ...args);
      await expect(run('distribute')).resolves.toMatchObject({ exitCode: 0 });
      await database.client.query('select citus_add_node($1, $2)', [
        added.host,
        added.port,
      ]);
      await expect(run('distribute')).resolves.toMatchObject({ exitCode: 0 });
      const to = `${added.host}:${added.port}`;
      const { distribution } = JSON.parse(
        (await run('status', '--json')).stdout,
      );
      // One that shares no shard: to split a shard, Citus copies the registry by itself.
      const { slug } = distribution.tenants.find(
        ({ neighbours }: { neighbours: number }) => neighbours === 0,
      );
      await expect(run('move-tenant', slug, '--to', to)).resolves.toMatchObject(
        { exitCode: 0, stdout: expect.stringContaining(`is on ${to}`) },
      );
      await expect(run('verify')).resolves.toMatchObject({ exitCode: 0 });
      await expect(run('undistribute')).resolves.toMatchObject({ exitCode: 0 });
      expect(new Set(await loginsOfAdmin())).toEqual(new Set([false]));
    } finally {
      await database.close();
    }
  });
});

/** Whether the administrator may log in, for each server. */
async function loginsOfAdmin(): Promise<boolean[]> {
  const logins: boolean[] = [];
  for (const server of await citusServers()) {
    const client = new Client(server);
    await client.connect();
    const { rows } = await client.query<{ login: boolean }>(
      `select rolcanlogin as login from pg_roles where rolname = 'portal_admin'`,
    );
    logins.push(...rows.map(({ login }) => login));
    await client.end();
  }
  return logins;
}
