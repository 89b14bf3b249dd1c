import { ConfigReader } from '@backstage/config';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { changeRole, createTestDatabases } from '@internal/postgres/testUtils';
import { forAllTests } from '../__testUtils__/forEachTest';
import {
  failure,
  runInProcess,
  runOnTerminal,
} from '../cli/__testUtils__/runCli';
import { TEAM } from '../partitions/__testUtils__/tenants';
import { givePartition } from '../partitions/move';
import { purgeTenant } from './purge';
import { searchTraces } from './traces';
import { HEX } from './__testUtils__/plugins';
import {
  createLogin,
  EVERY,
  obey,
  pauseForLock,
  TenantClones,
} from './__testUtils__/tenantClones';

// A purge of one tenant beside others, in a database with the tables of plugins. It is killed
// between some of its statements; between all of them with KILL_AFTER_EVERY=1.

const databases = createTestDatabases();

/** What nobody else may miss: all rows that say nothing of the tenant. */
const OTHERS = `
  select md5(string_agg(row, E'\\n' order by row)) as sum, count(*)::int as rows from (
    select e::text as row from tenancy.entities e where tenant_id <> '${TEAM}'
    union all select r::text from tenancy.relations r where tenant_id <> '${TEAM}'
    union all select r::text from tenancy.refresh_state r where tenant_id <> '${TEAM}'
    union all select t::text from tenancy.entity_terms t where tenant_id <> '${TEAM}'
    union all select t::text from tenancy.tenants t where tenant_id <> '${TEAM}'
    union all select m::text from plugins.mockups m where tenant_id <> '${TEAM}'
    union all select v::text from plugins.mockup_versions v where tenant_id <> '${TEAM}'
    union all select c::text from plugins.mockup_comments c where tenant_id <> '${TEAM}'
    union all select v::text from plugins.mockup_ready_versions v where tenant_id <> '${TEAM}'
  ) others`;

describe.each(databases.eachSupportedId())('purge on %s', id => {
  const clones = forAllTests(() => TenantClones.of(databases, id));

  const query = (database: string, sql: string) => clones.query(database, sql);

  const purge = (database: string) => clones.purge(database);

  const run = (database: string, ...args: string[]) =>
    clones.run(database, 'purge', ...args);

  /** Rows with a text that has the id, in every table. */
  const leftOf = async (database: string, text: string) => {
    const tables = await query(
      database,
      `select format('%I.%I', schemaname, tablename) as name from pg_tables
        where schemaname !~ '^(pg_|information_schema)' and tablename <> 'retired_slugs'`,
    );
    const left: string[] = [];
    for (const { name } of tables) {
      const rows = await query(
        database,
        `select from ${name} t where t::text like '%${text}%'`,
      );
      left.push(...rows.map(() => name));
    }
    return left;
  };

  it('removes everything of the tenant, and nothing of others', async () => {
    const name = await clones.copy();
    const others = await query(name, OTHERS);
    const { exitCode, stdout, stderr } = await run(name, 'my-team', '--yes');
    expect(stderr).toContain(
      'everything of the tenant "my-team", in the databases that are given, but not what TechDocs has',
    );
    expect(exitCode).toBe(0);
    expect(stdout).toContain(`- ${name} tenancy.entities: 60`);
    expect(stdout).toContain(`- ${name} tenant_${HEX}_user-settings`);
    expect(stdout).toContain(
      'Nothing is left of the tenant "my-team" in the databases that were searched.',
    );
    await expect(leftOf(name, TEAM)).resolves.toEqual([]);
    await expect(leftOf(name, HEX)).resolves.toEqual([]);
    await expect(query(name, OTHERS)).resolves.toEqual(others);
    await expect(
      query(
        name,
        `select principal from tenancy.tenant_members union all
         select user_entity_ref from plugins.user_info order by 1`,
      ),
    ).resolves.toEqual([
      { principal: 'user:default/bob' },
      { principal: 'user:other/ann' },
    ]);
    await expect(
      query(name, 'select target_ids from tenancy.tenant_shares'),
    ).resolves.toEqual([
      { target_ids: ['00000000-0000-0000-0000-000000000001'] },
    ]);
    await expect(
      query(name, 'select tenant_slug, tenant_id from tenancy.retired_slugs'),
    ).resolves.toEqual([{ tenant_slug: 'my-team', tenant_id: null }]);

    await expect(run(name, 'my-team', '--yes')).resolves.toMatchObject({
      exitCode: 0,
      stdout: 'The tenant "my-team" was purged before.\n',
    });
  });

  it('leaves the databases of a portal whose prefix only begins like its own', async () => {
    const name = await clones.copy();
    const prefix = `${name}_`;
    const { host, port, user, password } = clones.connection;
    const schemasIn = async (database: string) =>
      (
        await query(
          database,
          `select nspname from pg_namespace where nspname ~ '${HEX}'`,
        )
      ).length;
    const plugins = [`${prefix}search`, `${prefix}b_catalog`];
    for (const plugin of plugins) {
      await clones.admin.query(`create database ${plugin}`);
      await query(plugin, `create schema tenant_${HEX}`);
    }
    const config = new ConfigReader({
      backend: {
        database: {
          client: 'pg',
          prefix,
          connection: { host, port, user, password } as {},
        },
      },
    });
    await clones.purge(name, true, { config });
    await expect(Promise.all(plugins.map(schemasIn))).resolves.toEqual([0, 1]);
    for (const plugin of plugins) {
      await clones.drop(plugin);
    }
  });

  it('takes the partitions of a tenant too, also where all tables are published', async () => {
    const name = await clones.copy(`
       update tenancy.tenants set deleted_at = null where tenant_slug = 'my-team';
       create publication everything for all tables`);
    await clones.migrate(name, ({ context }) =>
      givePartition(context, 'my-team'),
    );
    await query(
      name,
      `update tenancy.tenants set deleted_at = now() - interval '400 days' where tenant_slug = 'my-team'`,
    );
    await purge(name);
    await expect(
      query(name, `select from pg_class where relname ~ 'my_team'`),
    ).resolves.toEqual([]);
  });

  it('says what is left, and ends when that is gone', async () => {
    const name = await clones.copy(
      `insert into plugins.notes values ('see ${TEAM}', '{${TEAM}}', '{"of": ["${TEAM}"]}'), ('', '{}', '{}')`,
    );
    const first = await run(name, 'my-team', '--yes');
    expect(first.exitCode).toBe(4);
    expect(first.stderr).toContain(`is left in:
- ${name} plugins.notes.text: 1 row
- ${name} plugins.notes.ids: 1 row
- ${name} plugins.notes.more: 1 row
`);
    await query(name, 'truncate plugins.notes');
    await expect(run(name, 'my-team', '--yes')).resolves.toMatchObject({
      exitCode: 0,
    });
  });

  it('is refused to a login before anything is changed, until it has the rights and nothing depends on what it drops', async () => {
    const name = await clones.copy();
    const database = clones.to(name);
    const login = await createLogin(database, 'purge_login');
    await clones.within(name, async client => {
      await changeRole(client, 'create role purge_owner');
      await changeRole(client, 'revoke purge_owner from purge_login');
      await client.query(`
        alter schema tenant_${HEX} owner to purge_owner;
        alter schema "tenant_${HEX}_user-settings" owner to purge_owner;
        alter table plugins.mockup_settings enable row level security;
        create view public.mine as select * from tenant_${HEX}.states;
        create schema billing;
        create table billing.bills (tenant uuid references tenancy.tenants);
        insert into billing.bills values ('${TEAM}');
        alter function plugins.to_trash() security definer`);
    });
    const purgeAsLogin = () =>
      runInProcess(login, 'tenant', 'purge', 'my-team', '--yes');
    const before = await clones.describe(name);
    const { exitCode, stderr } = await purgeAsLogin();
    expect(stderr).toContain(
      `In the database "${name}" the login "purge_login" lacks`,
    );
    for (const right of [
      'USAGE on the schema plugins',
      'SELECT, DELETE on plugins.backstage_backend_tasks__tasks, plugins.mockup_comments, plugins.mockup_editors and ',
      'BYPASSRLS, for the policies of plugins.mockup_settings',
      'the rights of purge_owner, which owns the schema "tenant_',
    ]) {
      expect(stderr).toContain(right);
    }
    expect(exitCode).toBe(3);
    await expect(clones.describe(name)).resolves.toEqual(before);
    await expect(
      query(name, 'select from tenancy.retired_slugs'),
    ).resolves.toEqual([]);

    await obey(database, stderr);
    for (const message of [
      '\n    drop view public.mine;',
      'SELECT on billing.bills; USAGE on the schema billing',
      'Rows of yours refer to the tenant: billing.bills (1 row).',
    ]) {
      const refused = await purgeAsLogin();
      expect(refused).toMatchObject(failure(message));
      await expect(
        query(name, 'select from tenancy.retired_slugs'),
      ).resolves.toEqual([]);
      await obey(database, refused.stderr);
    }
    await expect(purgeAsLogin()).resolves.toMatchObject({ exitCode: 0 });
    await expect(leftOf(name, TEAM)).resolves.toEqual([]);
  });

  it('is refused before it begins while another database of the portal takes no writes', async () => {
    const name = await clones.copy();
    const other = await clones.copy();
    await query(
      other,
      `alter database ${other} set default_transaction_read_only = on`,
    );
    await expect(
      run(name, ...['my-team', '--yes', '--database', other]),
    ).resolves.toMatchObject(
      failure(`alter database ${other} reset default_transaction_read_only;`),
    );
    await expect(
      query(name, 'select from tenancy.retired_slugs'),
    ).resolves.toEqual([]);
  });

  it('names the folder of documents that it may not remove, and goes on', async () => {
    const name = await clones.copy();
    const folder = await mkdtemp(join(tmpdir(), 'documents-'));
    const documents = join(`${folder}-of-tenants`, TEAM);
    await mkdir(documents, { recursive: true });
    const { host, port, user, password } = clones.connection;
    const config = new ConfigReader({
      backend: {
        database: {
          client: 'pg',
          prefix: `${name}_`,
          connection: { host, port, user, password } as {},
        },
      },
      techdocs: {
        publisher: { type: 'local', local: { publishDirectory: folder } },
      },
    });
    const removal = jest.spyOn(jest.requireActual('node:fs/promises'), 'rm');
    removal.mockRejectedValueOnce(new Error('EACCES: permission denied'));
    let report: unknown;
    try {
      await clones.migrate(name, async ({ context }) => {
        report = await purgeTenant(context, {
          slug: 'my-team',
          portal: { config },
          confirm: async () => undefined,
        });
      });
    } finally {
      removal.mockRestore();
      await rm(folder, { recursive: true });
      await rm(`${folder}-of-tenants`, { recursive: true });
    }
    expect(report).toMatchObject({
      folders: [],
      elsewhere: [`rm -r ${documents}`],
    });
    await expect(leftOf(name, TEAM)).resolves.toEqual([]);
  });

  it('is refused before it begins while rows of others refer to the tenant', async () => {
    const name = await clones.copy(`
       create table public.bills (tenant uuid references tenancy.tenants);
       create table public.notes (of uuid, entity uuid,
         foreign key (of, entity) references tenancy.entities (tenant_id, entity_id));
       create table public.votes (mockup uuid references plugins.mockups);
       insert into public.bills select tenant_id from tenancy.tenants;
       insert into public.notes select tenant_id, entity_id from tenancy.entities where entity_name = 'part-1';
       insert into public.votes select id from plugins.mockups`);
    const others = await query(name, OTHERS);
    const refused = await run(name, 'my-team', '--yes');
    expect(refused).toMatchObject(
      failure(
        'Rows of yours refer to the tenant: public.bills (1 row), public.notes (1 row), public.votes (3 rows). Delete them, and run the command again.',
      ),
    );
    await expect(
      query(name, 'select from tenancy.retired_slugs'),
    ).resolves.toEqual([]);
    await query(name, refused.stderr.match(/^ {4}delete .*;$/gm)!.join('\n'));
    await expect(run(name, 'my-team', '--yes')).resolves.toMatchObject({
      exitCode: 0,
    });
    await expect(query(name, OTHERS)).resolves.toEqual(others);
  });

  it('searches on where a table goes that it would read', async () => {
    const name = await clones.copy();
    await clones.migrate(name, async ({ context: { executor } }) => {
      const reading = (schema: string) => ({
        ...executor,
        read: async <Row>(sql: string) => {
          if (schema === 'plugins') {
            await query(name, 'drop table if exists plugins.notes');
          }
          return executor.read<Row>(sql);
        },
      });
      const subject = { tenantId: TEAM, schema: 'tenancy' };
      const found = await searchTraces(
        { database: name, executor },
        subject,
        reading,
      );
      const places = found.left.map(({ place }) => place);
      expect(places).toContain('plugins.mockups.tenant_id');
      expect(places).toContain('tenancy.tenants.tenant_id');
      expect(found.unread).toEqual([]);
    });
  });

  it('lets others go on while it waits for rows that are locked', async () => {
    const name = await clones.copy();
    await clones.within(name, async holder => {
      await holder.query('begin');
      await holder.query(
        `select from plugins.mockups where tenant_id = '${TEAM}' for update`,
      );
      const running = run(name, 'my-team', '--yes');
      await pauseForLock(clones, name);
      await holder.query('rollback');
      const { exitCode, stderr } = await running;
      expect(stderr).toContain(
        `Waiting for a lock: Delete rows of ${name} plugins.mockups`,
      );
      expect(exitCode).toBe(0);
    });
  });

  it.each([
    ['default', "is the default one, which can't be purged"],
    ['other', 'is not deleted. Delete it first'],
    ['nobody', 'There is no tenant "nobody"'],
    ['gone', 'as its entity_ttl_days says. Purge it before that with --now.'],
  ])('refuses %s', async (slug, message) => {
    await expect(run(clones.template, slug, '--yes')).resolves.toMatchObject(
      failure(message),
    );
  });

  it('asks for the slug', async () => {
    const name = await clones.copy();
    const ask = (answer: string) =>
      runOnTerminal(
        clones.to(name),
        answer,
        ...['tenant', 'purge', 'gone', '--now'],
      );
    await expect(ask('yes')).resolves.toMatchObject({ exitCode: 3 });
    await expect(ask('gone')).resolves.toMatchObject({ exitCode: 0 });
  });

  it.each([
    ['purge', 'my-team', '--yes'],
    ['export', 'my-team', 'my-team.gz'],
    ['import', 'my-team.gz'],
    ['move', 'my-team', '--to-url', 'postgres://localhost/elsewhere'],
  ])('asks for an upgrade of an earlier version first: %s', async (...args) => {
    const name = await clones.copy(
      `delete from tenancy.tenancy_migrations where name like '%retired_slugs'`,
    );
    await query(name, 'drop table tenancy.retired_slugs');
    await expect(
      runInProcess(clones.to(name), 'tenant', ...args),
    ).resolves.toMatchObject(failure(/lacks tables .* Run ".*upgrade"/));
  });

  it('goes on from wherever it was killed', async () => {
    const undisturbed = await clones.copy();
    const sent = await clones.count(undisturbed, purge);
    const others = await query(clones.template, OTHERS);
    for (let after = 3; after < sent; after += EVERY) {
      const name = await clones.copy();
      await clones.kill(after, name, purge);
      await purge(name);
      await expect(leftOf(name, TEAM)).resolves.toEqual([]);
      await expect(query(name, OTHERS)).resolves.toEqual(others);
      await clones.drop(name);
    }
  });
});
