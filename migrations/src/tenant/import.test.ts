import { ConfigReader } from '@backstage/config';
import {
  createTestDatabases,
  waitUntil,
  withClient,
} from '@internal/postgres/testUtils';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { createQuotaStatement } from '../adopt/quota';
import { forAllTests } from '../__testUtils__/forEachTest';
import {
  failure,
  runInProcess,
  runWithoutDatabase,
  startCli,
  urlEnvironment,
  urlOf,
} from '../cli/__testUtils__/runCli';
import { TEAM } from '../partitions/__testUtils__/tenants';
import { rollback } from '../rollback/rollback';
import { HEX } from './__testUtils__/plugins';
import {
  createLogin,
  EVERY,
  giveEngineTables,
  JSON_NULLS,
  linesOf,
  obey,
  pauseForLock,
  TenantClones,
  READ_JSON_NULLS,
  tableMaker,
  WITHOUT_MD5,
} from './__testUtils__/tenantClones';
import { exportAll } from './exportAll';
import { giveUpImport, importTenant } from './import';
import { placeOf, withPlaces } from './places';

// An import of what an export has written is killed between some of its statements; between all
// of them with KILL_AFTER_EVERY=1.

const databases = createTestDatabases();

describe.each(databases.eachSupportedId())('export and import on %s', id => {
  const clones = forAllTests(() => TenantClones.of(databases, id));
  let file: string;
  const makeTables = tableMaker();

  const run = (database: string, ...args: string[]) =>
    clones.run(database, ...args);

  const exportTo = (database: string, slug: string, to: string) =>
    run(database, 'export', slug, to);

  beforeAll(async () => {
    file = join(clones.folder, 'my-team.gz');
    await exportTo(clones.template, 'my-team', file);
  });

  const query = (database: string, sql: string) => clones.query(database, sql);

  /** Waits until a session waits for a lock, or was ended then. */
  const waitForLocks = (name: string, end = 'pg_blocking_pids') =>
    waitUntil('a session to wait for a lock', async () => {
      const waiting = await query(
        name,
        `select ${end}(pid) from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`,
      );
      return waiting.length;
    });

  const importFrom = async (
    database: string,
    from: string,
    slug?: string,
  ): Promise<{ tenantId: string }> => {
    let result = { tenantId: '' };
    await clones.migrate(database, async ({ context }) => {
      result = await importTenant(context, {
        file: from,
        slug,
        portal: {},
        makeTables,
      });
    });
    return result;
  };

  const importFile = (database: string) => importFrom(database, file);

  const changed = async (change: (bytes: Buffer) => Buffer) => {
    const path = join(clones.folder, 'changed.gz');
    await writeFile(path, change(await readFile(file)));
    return path;
  };
  const inLines = (change: (all: string[]) => string[]) => (bytes: Buffer) =>
    gzipSync(
      `${change(gunzipSync(bytes).toString().trimEnd().split('\n')).join(
        '\n',
      )}\n`,
    );

  /** With the checksum that they have now. */
  const sealed = (all: string[]) => {
    const before = all.slice(0, -1);
    const sha256 = createHash('sha256')
      .update(before.map(line => `${line}\n`).join(''))
      .digest('hex');
    return [...before, JSON.stringify({ sha256 })];
  };

  it('are equal, after a purge and in another database', async () => {
    await expect(
      exportTo(clones.template, 'my-team', file),
    ).resolves.toMatchObject({
      exitCode: 0,
      stdout: `The tenant "my-team" is in ${file}: 60 entities, 265 rows in all.\n`,
    });
    const before = await clones.contents(clones.template);
    const name = await clones.copy();
    await clones.purge(name);
    await expect(importFrom(name, file)).resolves.toMatchObject({
      tenantId: TEAM,
    });
    // A deleted tenant comes back, and all but its row is the same.
    await expect(clones.contents(name)).resolves.toEqual(before);
    await expect(
      query(name, 'select from tenancy.retired_slugs'),
    ).resolves.toEqual([]);
    await expect(
      query(
        name,
        `select tgenabled from pg_trigger where tgrelid = 'tenant_${HEX}.states'::regclass and not tgisinternal`,
      ),
    ).resolves.toEqual([{ tgenabled: 'A' }]);
    const structure = `select pg_get_indexdef(indexrelid) as definition from pg_index
       where indrelid::regclass::text like 'tenant_${HEX}.%'
       union all
      select conname || ' ' || pg_get_constraintdef(oid) from pg_constraint
       where conrelid::regclass::text like 'tenant_${HEX}.%' order by 1`;
    const expected = await query(clones.template, structure);
    expect(JSON.stringify(expected)).toMatch(/CREATE INDEX.*FOREIGN KEY/);
    await expect(query(name, structure)).resolves.toEqual(expected);
    await expect(
      query(
        name,
        `insert into tenant_${HEX}.edges (source) values ('b') returning id`,
      ),
    ).resolves.toEqual([{ id: '4' }]);
    await expect(
      query(
        name,
        `select count(*)::int as terms from tenancy.entity_terms where tenant_id = '${TEAM}'`,
      ),
    ).resolves.toEqual(
      await query(
        clones.template,
        `select count(*)::int as terms from tenancy.entity_terms where tenant_id = '${TEAM}'`,
      ),
    );
  });

  it('make a second tenant with other ids beside the first, also where all tables are published, and without MD5, as in FIPS mode', async () => {
    const name = await clones.copy(
      `create publication everything for all tables; ${WITHOUT_MD5}`,
    );
    const { tenantId } = await importFrom(name, file, 'second');
    expect(tenantId).not.toBe(TEAM);
    await expect(
      query(
        name,
        `select t.tenant_slug as slug,
                (select count(*)::int from tenancy.entities e where e.tenant_id = t.tenant_id) as entities,
                (select count(*)::int from plugins.mockups m join plugins.mockup_versions v
                    on v.mockup_id = m.id and v.tenant_id = m.tenant_id
                  join plugins.mockup_comments c
                    on c.mockup_id = m.id and c.tenant_id = m.tenant_id and c.author = m.owner
                  join plugins.mockup_ready_versions r
                    on r.version_id = v.id and r.tenant_id = m.tenant_id
                  where m.tenant_id = t.tenant_id and m.owner = 'user:' || tenant_slug || '/ann') as mockups
           from tenancy.tenants t where tenant_slug in ('my-team', 'second') order by 1`,
      ),
    ).resolves.toEqual([
      { slug: 'my-team', entities: 60, mockups: 3 },
      { slug: 'second', entities: 60, mockups: 3 },
    ]);
    // The first one is as it was.
    await expect(clones.contents(name)).resolves.toEqual(
      await clones.contents(clones.template),
    );
  });

  it('leave alone what another registry in the database has of the same tenant', async () => {
    const name = await clones.copy();
    await clones.purge(name);
    await query(
      name,
      `create schema other_portal;
       create table other_portal.tenants (tenant_id uuid, tenant_slug text);
       insert into other_portal.tenants values ('${TEAM}', 'my-team');
       create schema tenant_${HEX};
       create table tenant_${HEX}.theirs ()`,
    );
    const { tenantId } = await importFrom(name, file);
    expect(tenantId).not.toBe(TEAM);
    await expect(
      query(name, `select from tenant_${HEX}.theirs`),
    ).resolves.toEqual([]);
  });

  it('refuse a tenant whose id another registry in the database has too', async () => {
    const name = await clones.copyInUse(
      `create schema other_portal;
       create table other_portal.tenants (tenant_id uuid, tenant_slug text);
       insert into other_portal.tenants values
         ('00000000-0000-0000-0000-000000000001', 'default'), ('${TEAM}', 'my-team')`,
    );
    const before = await query(name, 'select m::text from plugins.mockups m');
    for (const args of [
      ['export', 'default', join(clones.folder, 'shared.gz')],
      ['import', file, '--replace', '--yes'],
      ['move', 'my-team', '--to-url', urlOf(clones.to(clones.template))],
    ]) {
      await expect(run(name, ...args)).resolves.toMatchObject(
        failure(
          'other_portal.tenants in the same database has a tenant with the same id',
        ),
      );
    }
    await query(
      name,
      `update tenancy.tenants set deleted_at = now() where tenant_id = '${TEAM}'`,
    );
    await expect(clones.purge(name, true)).rejects.toThrow(
      'other_portal.tenants in the same database has a tenant with the same id',
    );
    await expect(
      query(name, 'select m::text from plugins.mockups m'),
    ).resolves.toEqual(before);
  });

  it.each([
    [
      ['export', 'my-team', 'as-login.gz'],
      [
        'SELECT on plugins.mockup_comments, plugins.mockup_pages, plugins.mockup_ready_versions and ',
      ],
    ],
    [
      ['import', 'my-team.gz', '--replace', '--yes'],
      [
        'SELECT, INSERT, UPDATE, DELETE on plugins.mockup_comments, ',
        `the rights of tenant_owner, which owns the table tenant_${HEX}.counters, `,
      ],
    ],
    [
      ['import', 'my-team.gz', '--slug', 'new'],
      [
        'CREATE on the database',
        'SELECT, INSERT, UPDATE, DELETE on plugins.mockup_comments, ',
        'SELECT, DELETE on plugins.backstage_backend_tasks__tasks',
      ],
      1,
      3,
    ],
    [
      ['import', 'my-team.gz', '--slug', 'new', '--give-up'],
      ['SELECT, DELETE on plugins.backstage_backend_tasks__tasks, '],
    ],
  ])(
    'name what the login lacks before anything is changed: %j',
    async (args, rights, refusals = 3, exitCodeThen = 0) => {
      const name = await clones.copyInUse();
      const database = clones.to(name);
      const login = await createLogin(database, 'tenant_login');
      await obey(database, giveEngineTables('tenant_owner', 'tenant_login'));
      const runAsLogin = () =>
        runInProcess(
          login,
          'tenant',
          ...args.map(each =>
            each.endsWith('.gz') ? join(clones.folder, each) : each,
          ),
        );
      const before = await clones.describe(name);
      // Another registry, which may have a tenant with the same id.
      await query(
        name,
        `create schema other_portal;
       create table other_portal.tenants (tenant_id uuid, tenant_slug text)`,
      );
      let refused = await runAsLogin();
      expect(refused.stderr).toMatch(
        /the login "tenant_login" lacks .*SELECT on other_portal\.tenants/,
      );
      let told = '';
      let times = 0;
      while (refused.stderr.includes(' lacks ')) {
        told += refused.stderr;
        times += 1;
        expect(refused.exitCode).toBe(3);
        await expect(clones.describe(name)).resolves.toEqual(before);
        await obey(database, refused.stderr);
        refused = await runAsLogin();
      }
      for (const right of rights) {
        expect(told).toContain(right);
      }
      expect(times).toBeLessThanOrEqual(refusals);
      // Without the package that made the tables of the tests, those of a new tenant can't be made.
      expect(refused.exitCode).toBe(exitCodeThen);
    },
  );

  it('are refused after a rollback, as are a purge and a move: the tables in use have no rows of tenants', async () => {
    const name = await clones.copyInUse();
    await clones.migrate(name, migration => rollback(migration));
    for (const args of [
      ['export', 'my-team', join(clones.folder, 'rolled-back.gz')],
      ['export', '--all', '--to', join(clones.folder, 'rolled-back')],
      ['import', file, '--slug', 'rolled-back'],
      ['move', 'my-team', '--to-url', urlOf(clones.connection)],
      ['purge', 'my-team', '--now', '--yes'],
    ]) {
      await expect(run(name, ...args)).resolves.toMatchObject(
        failure('Phase 5 is not complete'),
      );
    }
  });

  it('are refused once a rollback has begun, also where it begins between two tenants', async () => {
    const name = await clones.copyInUse();
    const to = await mkdtemp(join(clones.folder, 'rolling-back-'));
    await clones.migrate(name, async migration => {
      await migration.requireProductTables();
      await rollback(migration);
      await expect(
        exportAll(migration.context, { folder: to, keep: 1, portal: {} }),
      ).rejects.toThrow(
        /^2 of 2 tenants .*\nmy-team: The tables of tenants are out of use, since a rollback has begun\. Run ".* status"\./,
      );
    });
    expect(await readdir(to)).toEqual([]);
  });

  // As a move of partitions, a rollback or an import does: older snapshots show none of these rows.
  it.each([
    ['tenancy.entities', 'hash'],
    [`tenant_${HEX}.edges`, 'source'],
  ])(
    'have all rows of %s that a command writes to another file when the export begins',
    async (table, column) => {
      const name = await clones.copyInUse();
      const before = await clones.contents(name);
      await clones.within(name, async other => {
        await other.query(
          `begin; alter table ${table} alter column ${column} type text using ${column} || ''`,
        );
        const exported = clones.contents(name);
        await waitForLocks(name);
        await other.query('commit');
        await expect(exported).resolves.toEqual(before);
      });
    },
  );

  it('tell a JSON null from a missing value', async () => {
    const name = await clones.copy(JSON_NULLS);
    const before = await query(name, READ_JSON_NULLS);
    const from = join(clones.folder, 'nulls.gz');
    await exportTo(name, 'my-team', from);
    await clones.purge(name);
    await importFrom(name, from);
    await expect(query(name, READ_JSON_NULLS)).resolves.toEqual(before);
    expect(before.map(({ value }) => value)).toEqual(
      expect.arrayContaining(['null', null]),
    );
  });

  it.each([
    ['a slug that is taken', undefined, async () => file, 'is taken'],
    ['a slug that is none', 'No slug', async () => file, `can't be one`],
    [
      'an empty file',
      'new',
      () => changed(() => Buffer.alloc(0)),
      'is damaged: unexpected end of file',
    ],
    [
      'a file that is cut off',
      'new',
      () => changed(bytes => bytes.subarray(0, bytes.length - 100)),
      'is damaged',
    ],
    [
      'a file of which rows are missing',
      'new',
      () => changed(inLines(all => all.slice(0, -1))),
      'is damaged: its end is missing',
    ],
    [
      'changed rows',
      'new',
      () =>
        changed(
          inLines(all => all.map(l => l.replace('"part-7"', '"part-x"'))),
        ),
      'is damaged: its bytes are not those of its checksum',
    ],
    [
      'another version',
      'new',
      () =>
        changed(
          inLines(all => all.map(l => l.replace('"version":1', '"version":2'))),
        ),
      'has version 2 of the format, and this command reads version 1',
    ],
    ...[
      ['"id":"', '"id":"../'],
      ['"sections":[', '"sections":[null,'],
      ['00aa"', '00AA"'],
      ['"rows":', '"rows":-'],
      ['"columns":[', '"columns":[1,'],
      ['"migrations":', '"others":'],
      [
        '"migrations":{',
        '"migrations":{"plugin ../x":[],',
        'has rows of plugin ../x knex_migrations',
      ],
      [
        '"columns":["id","owner"',
        '"columns":["id","later","owner"',
        'The rows of mockups mockups have later, for which there is no table or column.',
      ],
    ].map(
      ([
        text,
        other,
        message = 'is damaged: its first line does not say what it has',
      ]): [string, string, () => Promise<string>, string] => [
        `a file with ${other} in its first line`,
        'new',
        () =>
          changed(
            inLines(([first, ...rows]) =>
              sealed([first.replace(text, other), ...rows]),
            ),
          ),
        message,
      ],
    ),
    [
      'rows of a table that is not of tenants',
      'new',
      () =>
        changed(
          inLines(all =>
            sealed(
              all.map(line =>
                line.replace(
                  '"table":"tenant_members"',
                  '"table":"engine_processes"',
                ),
              ),
            ),
          ),
        ),
      'has rows of registry engine_processes',
    ],
    [
      'another file',
      'new',
      () => changed(() => gzipSync('[]\n')),
      'is not an export of a tenant',
    ],
    [
      'what is not compressed',
      'new',
      () => changed(() => Buffer.from('text')),
      'is damaged',
    ],
  ])('refuse %s', async (_what, slug, path, message) => {
    const state = () =>
      Promise.all([
        query(clones.template, 'select * from tenancy.tenants'),
        query(clones.template, 'select nspname from pg_namespace order by 1'),
      ]);
    const before = await state();
    await expect(
      importFrom(clones.template, await path(), slug),
    ).rejects.toThrow(message);
    await expect(state()).resolves.toEqual(before);
  });

  /** An import beside which something happens once the file was checked. */
  const importBeside = (
    database: string,
    from: string,
    meanwhile: () => Promise<unknown>,
  ) =>
    clones.migrate(database, ({ context }) =>
      importTenant(context, {
        file: from,
        slug: 'new',
        portal: {},
        makeTables: async tables => {
          await makeTables(tables);
          await meanwhile();
        },
      }),
    );

  it('refuse a slug that another tenant gets meanwhile, and can be given up then', async () => {
    const name = await clones.copy();
    const schemas = () =>
      query(name, `select nspname from pg_namespace order by 1`);
    const before = await schemas();
    const taking = importBeside(name, file, () =>
      query(
        name,
        `insert into tenancy.tenants (tenant_slug, tenant_name) values ('new', 'New') on conflict do nothing`,
      ),
    );
    await expect(taking).rejects.toMatchObject({
      exitCode: 3,
      message: 'The slug "new" is taken. Give another one with --slug.',
    });
    await expect(
      run(name, 'import', file, '--slug', 'new', '--give-up'),
    ).resolves.toMatchObject({
      exitCode: 0,
      stdout: 'Nothing is left of the import of "new".\n',
    });
    await expect(schemas()).resolves.toEqual(before);
  });

  it('refuse a file that is replaced meanwhile', async () => {
    const name = await clones.copy();
    const path = await changed(bytes => bytes);
    const other = join(clones.folder, 'other.gz');
    await exportTo(clones.template, 'other', other);
    await expect(
      importBeside(name, path, async () =>
        writeFile(path, await readFile(other)),
      ),
    ).rejects.toMatchObject({
      exitCode: 3,
      message: `${path} was replaced meanwhile, and nothing was imported. Run the command again.`,
    });
    await expect(
      query(name, `select from tenancy.tenants where tenant_slug = 'new'`),
    ).resolves.toEqual([]);
  });

  it('refuse a tenant of which a purge has removed a part', async () => {
    const name = await clones.copy(`
       insert into tenancy.retired_slugs (tenant_slug, tenant_digest, tenant_id)
       values ('my-team', '', '${TEAM}')`);
    await expect(
      exportTo(name, 'my-team', join(clones.folder, 'half.gz')),
    ).resolves.toMatchObject(
      failure('The purge of the tenant "my-team" is not complete.'),
    );
  });

  it('refuse what the database has made other rows of', async () => {
    const name = await clones.copy(`
       create function plugins.change() returns trigger language plpgsql as
         'begin new.owner := ''user:default/other''; return new; end';
       create trigger change before insert on plugins.mockups
         for each row execute function plugins.change()`);
    await expect(importFrom(name, file, 'new')).rejects.toThrow(
      'The imported rows of mockups mockups differ from those in the file.',
    );
    await expect(
      query(name, `select from tenancy.tenants where tenant_slug = 'new'`),
    ).resolves.toEqual([]);
  });

  it('leave no file behind that is not whole', async () => {
    await expect(
      exportTo(clones.template, 'nobody', join(clones.folder, 'nobody.gz')),
    ).resolves.toMatchObject(failure('There is no tenant "nobody"'));
    const files = await readdir(clones.folder);
    expect(files.filter(each => /nobody|partial/.test(each))).toEqual([]);
  });

  it('leave no file behind either where they are stopped while they wait', async () => {
    await withClient(clones.connection, async holder => {
      await holder.query(`begin; lock table tenant_${HEX}.states`);
      const path = join(clones.folder, 'stopped.gz');
      const running = startCli(['tenant', 'export', 'my-team', path], {
        env: urlEnvironment(clones.connection),
      });
      await waitForLocks(clones.template);
      running.signal('SIGHUP');
      await expect(running.result).resolves.toMatchObject({ exitCode: 129 });
    });
    const files = await readdir(clones.folder);
    expect(files.filter(each => /stopped/.test(each))).toEqual([]);
  });

  it('take the place of files alone', async () => {
    const pipe = join(clones.folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    await expect(
      exportTo(clones.template, 'my-team', pipe),
    ).resolves.toMatchObject(
      failure(`${pipe} can't be written: it is not a file.`, 2),
    );
    expect((await stat(pipe)).isFIFO()).toBe(true);
    // Nobody would write to it a second time.
    await expect(run(clones.template, 'import', pipe)).resolves.toMatchObject({
      exitCode: 2,
      stderr: `Error: ${pipe} can't be read: it is not a file.\n`,
    });
  });

  it('are whole of runs at the same time', async () => {
    const to = join(clones.folder, 'together.gz');
    const runs = [1, 2, 3].map(() => exportTo(clones.template, 'my-team', to));
    for (const { exitCode } of await Promise.all(runs)) {
      expect(exitCode).toBe(0);
    }
    const [header, ...rows] = await linesOf(to);
    expect(JSON.parse(header).format).toBe('backstage-tenant');
    expect(rows.slice(0, -1).sort()).toEqual(
      (await linesOf(file)).slice(1, -1).sort(),
    );
  });

  it.each([
    ['import .', ". can't be read: it is not a file."],
    ['import none.gz --give-up', "none.gz can't be read: ENOENT."],
    ['import none.gz --give-up --replace', 'cannot be used with option'],
    ['import none.gz', "none.gz can't be read: ENOENT."],
    ['export my-team a.gz --keep 3', 'Give a slug and a file, such as'],
    ['export my-team nowhere/a.gz', "nowhere/a.gz can't be written: ENOENT."],
    ['export my-team .', ". can't be written: it is not a file."],
    [
      'export --all --to package.json',
      "package.json can't be written: EEXIST.",
    ],
  ])('say what is wrong: %s', async (command, message) => {
    await expect(
      runInProcess(clones.connection, ...['tenant', ...command.split(' ')]),
    ).resolves.toMatchObject(failure(message, 2));
  });

  it('find the database of a plugin by the configuration', async () => {
    const { host, port, user, password, database } = clones.connection;
    const prefix = `${database}-of-`;
    const plugins = [`${prefix}search`, `${database}_templates`];
    for (const plugin of plugins) {
      await clones.admin.query(`create database "${plugin}"`);
    }
    const config = new ConfigReader({
      backend: {
        database: {
          client: 'pg',
          prefix,
          connection: { host, port, user, password } as {},
          plugin: { scaffolder: { connection: { database: plugins[1] } } },
        },
      },
    });
    await clones.migrate(database!, ({ context }) =>
      withPlaces(context, { config }, async places =>
        expect(
          ['search', 'scaffolder', 'home'].map(
            plugin => placeOf(places, `plugin ${plugin}`).database,
          ),
        ).toEqual([...plugins, database]),
      ),
    );
    for (const plugin of plugins) {
      await clones.drop(`"${plugin}"`);
    }
  });

  it('of all tenants warn once of databases beside that of a URL', async () => {
    const name = await clones.copyInUse();
    const beside = [`${name}_catalog`, `${name}_mockup`];
    for (const each of beside) {
      await clones.admin.query(`create database ${each} template ${name}`);
    }
    const to = join(clones.folder, 'beside');
    const { stderr } = await run(beside[0], 'export', '--all', '--to', to);
    expect(stderr).toBe(
      `Warning: Left out, since no configuration is given: ${beside[1]}. Name those of the portal by --database, or give --config.\n`,
    );
    for (const each of beside) {
      await clones.drop(each);
    }
  });

  it('find the other databases by a URL without a host', async () => {
    const { host, port, user, password, database } = clones.connection;
    const { exitCode, stderr } = await runWithoutDatabase(
      ...[
        'tenant',
        'export',
        'my-team',
        join(clones.folder, 'by-socket.gz'),
        '--url',
      ],
      `postgresql://${user}:${password}@/${database}?host=${host}&port=${port}`,
    );
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  });

  it.each([
    ['export', 'my-team', 'none.gz'],
    ['export', '--all', '--to', '.'],
    ['import', 'none.gz'],
    ['move', 'my-team', '--to-url', 'itself'],
  ])('%s is refused before there are tenants: %s', async (...args) => {
    const fresh = await databases.create(id);
    const { database } = fresh;
    const { exitCode, stderr } = await runInProcess(
      args[0] === 'move' ? clones.connection : fresh,
      'tenant',
      ...args.map(each => (each === 'itself' ? urlOf(fresh) : each)),
    );
    expect(stderr).toBe(
      `Error: The database "${database}" has no tenants in the schema "tenancy". ` +
        'Run "npx backstage-catalog-tenancy-cli status" on it, or give another --schema.\n',
    );
    expect(exitCode).toBe(3);
  });

  it.each([
    ['export', '--database', 'nowhere'],
    ['move', '--to-url', 'postgresql://hans:hush-hush@localhost:1/nowhere'],
  ])('%s names the database that is away', async (command, ...options) => {
    const { exitCode, stderr } = await runInProcess(
      clones.connection,
      ...['tenant', command, 'my-team'],
      ...(command === 'export' ? [join(clones.folder, 'none.gz')] : []),
      ...options,
    );
    expect(stderr).toMatch(
      /^Error: Can't connect to the database "nowhere" at .* as ".*": .*\.\n$/,
    );
    expect(stderr).not.toContain('hush');
    expect(exitCode).toBe(1);
  });

  it('of all tenants leave no half file, lose no old one and change nothing, wherever they are killed', async () => {
    const name = await clones.copy();
    const slugs = ['my-team', 'other'];
    const objects = () =>
      query(
        name,
        `select n.nspname, c.relname, c.relkind from pg_class c
           join pg_namespace n on n.oid = c.relnamespace
          where n.nspname !~ '^pg_' order by 1, 2`,
      );
    await query(
      name,
      `update tenancy.tenants set deleted_at = null where tenant_id = '${TEAM}'`,
    );
    const before = await objects();
    const to = await mkdtemp(join(clones.folder, 'killed-'));
    const exportInto = () =>
      clones.migrate(name, ({ context }) =>
        exportAll(context, { folder: to, keep: 2, portal: {} }),
      );
    const filesOf = async (slug: string) =>
      (await readdir(to)).filter(each => each.startsWith(`${slug}-`)).sort();
    const old = (slug: string) => `${slug}-20010101T000000Z.gz`;
    const sent = await clones.count(name, exportInto);
    const whole = new Map<string, number>();
    for (const slug of slugs) {
      const [written] = await filesOf(slug);
      whole.set(slug, (await linesOf(join(to, written))).length);
      await rename(join(to, written), join(to, old(slug)));
    }
    for (let after = 3; after < sent; after += EVERY) {
      await clones.kill(after, name, exportInto);
      for (const slug of slugs) {
        const files = await filesOf(slug);
        expect(files).toContain(old(slug));
        expect(files.length).toBeLessThanOrEqual(2);
        for (const entry of files) {
          const { length } = await linesOf(join(to, entry));
          expect(length).toBe(whole.get(slug));
        }
        await Promise.all(files.slice(1).map(entry => rm(join(to, entry))));
      }
      await expect(objects()).resolves.toEqual(before);
    }
    await exportInto();
    for (const slug of slugs) {
      const [first, second, ...more] = await filesOf(slug);
      expect([first, more]).toEqual([old(slug), []]);
      await expect(linesOf(join(to, second))).resolves.toHaveLength(
        whole.get(slug)!,
      );
    }
  });

  it.each([
    ['pg_cancel_backend', 9, 'The command was cancelled in the database'],
    ['pg_terminate_backend', 7, 'The connection to the database was lost'],
  ])('of all tenants end at a %s', async (end, code, message) => {
    const name = await clones.copyInUse();
    const to = join(clones.folder, end);
    await clones.within(name, async holder => {
      await holder.query(`begin; lock table tenant_${HEX}.states`);
      const running = run(name, 'export', '--all', '--to', to);
      await waitForLocks(name, end);
      await expect(running).resolves.toMatchObject({
        exitCode: code,
        stderr: expect.stringMatching(`^Error: ${message}`),
      });
    });
    expect(await readdir(to)).toEqual([]);
  });

  it('are written of all tenants, of which so many are kept', async () => {
    const name = await clones.copy();
    const to = join(clones.folder, 'all');
    const exportEach = () =>
      run(name, 'export', '--all', '--to', to, '--keep', '2');
    await expect(exportEach()).resolves.toMatchObject({
      exitCode: 0,
      stdout: `1 tenant exported to ${to}.\n`,
    });
    const [first] = await readdir(to);
    expect(first).toMatch(/^other-\d{8}T\d{6}Z\.gz$/);
    const old = ['other-20010101T000000Z.gz', 'other-20020101T000000Z.gz'];
    const ofOthers = ['other-2-20010101T000000Z.gz', 'notes.txt'];
    const left = 'other-20030101T000000Z.gz.killed.partial';
    const underWay = 'other-20040101T000000Z.gz.begun.partial';
    for (const each of [...old, ...ofOthers, left, underWay]) {
      await writeFile(join(to, each), '');
    }
    await utimes(join(to, left), 0, 0);
    await rm(join(to, first));
    await exportEach();
    await rm(join(to, underWay));
    const files = await readdir(to);
    const kept = files.filter(each => !ofOthers.includes(each)).sort();
    expect(kept).toEqual([old[1], expect.stringMatching(/^other-2\d{3}/)]);
    expect(files).toEqual(expect.arrayContaining(ofOthers));

    // One that fails keeps its files, and the others are exported.
    await query(
      name,
      `update tenancy.tenants set deleted_at = null where tenant_id = '${TEAM}';
       drop table tenant_${HEX}.knex_migrations;
       create view tenant_${HEX}.knex_migrations as select 1 / 0 as id, '' as name`,
    );
    const { exitCode, stderr } = await exportEach();
    expect(stderr).toContain(
      '1 of 2 tenants could not be exported:\nmy-team: ',
    );
    expect(exitCode).toBe(1);
    expect(await readdir(to)).toHaveLength(4);
  });

  it('keep the file that was just written, whatever the clock said before', async () => {
    const to = await mkdtemp(join(clones.folder, 'clock-'));
    const later = ['other-29980101T000000Z.gz', 'other-29990101T000000Z.gz'];
    for (const each of later) {
      await writeFile(join(to, each), '');
    }
    await run(clones.template, 'export', '--all', '--to', to, '--keep', '2');
    expect((await readdir(to)).sort()).toEqual([
      expect.stringMatching(/^other-20/),
      later[1],
    ]);
  });

  const replace = (database: string) =>
    clones.migrate(database, ({ context }) =>
      importTenant(context, { file, replace: true, portal: {}, makeTables }),
    );

  it('name the purge that drops the tables of a tenant when the export begins', async () => {
    const name = await clones.copy();
    await clones.within(name, async purge => {
      await purge.query(`begin; drop schema tenant_${HEX} cascade`);
      const exported = exportTo(
        name,
        'my-team',
        join(clones.folder, 'purged.gz'),
      );
      await waitForLocks(name);
      await purge.query('commit');
      await expect(exported).resolves.toMatchObject(
        failure(/Tables .* were dropped meanwhile/),
      );
    });
  });

  it('let the engine go on while a backup holds its tables', async () => {
    const name = await clones.copyInUse();
    await clones.within(name, async backup => {
      await backup.query('begin');
      await backup.query(`select from tenant_${HEX}.states`);
      const replacing = replace(name);
      await pauseForLock(clones, name);
      await backup.query('commit');
      await expect(replacing).resolves.toBeUndefined();
    });
  });

  it('bring a tenant back to what it was, wherever that is killed', async () => {
    const whole = await clones.copy(
      `update tenancy.tenants set deleted_at = null, max_entities = 60 where tenant_id = '${TEAM}'`,
    );
    const expected = await clones.contents(whole);
    const broken = await clones.clone(whole);
    await query(
      broken,
      `delete from tenancy.entities where tenant_id = '${TEAM}' and entity_name like '%1%';
       update tenancy.entities set hash = 'x' where tenant_id = '${TEAM}';
       delete from plugins.mockup_pages where tenant_id = '${TEAM}';
       delete from plugins.mockups where tenant_id = '${TEAM}';
       delete from tenant_${HEX}.edges;
       ${createQuotaStatement(`tenant_${HEX}`)};
       select tenancy.adoption_reserve('${TEAM}', 'tenant_${HEX}')`,
    );
    const count = async (database: string) => {
      const [row] = await query(
        database,
        `select count(*)::int as entities from tenancy.entities where tenant_id = '${TEAM}'`,
      );
      return row;
    };
    const before = await count(broken);
    const name = await clones.clone(broken);
    const sent = await clones.count(name, replace);
    await expect(clones.contents(name)).resolves.toEqual(expected);
    await expect(
      query(
        name,
        `select tenancy.adoption_reserve('${TEAM}', 'tenant_${HEX}')`,
      ),
    ).rejects.toMatchObject({ code: '54000' });
    for (let after = 30; after < sent; after += EVERY) {
      const killed = await clones.clone(broken);
      await clones.kill(after, killed, replace);
      // Those of before, or those of the file.
      expect([before, { entities: 60 }]).toContainEqual(await count(killed));
      await replace(killed);
      await expect(clones.contents(killed)).resolves.toEqual(expected);
      await clones.drop(killed);
    }
  });

  it('go on from wherever the import was killed, or leave nothing of it where it is given up', async () => {
    const empty = await clones.copy();
    await clones.purge(empty);
    const stateOf = async (database: string) => [
      await clones.describe(database),
      await query(
        database,
        `select nspname from pg_namespace where nspname ~ '^tenant_' order by 1`,
      ),
      await query(database, 'select m::text from plugins.mockups m order by 1'),
    ];
    const giveUp = (database: string) =>
      clones.migrate(database, ({ context }) =>
        giveUpImport(context, { file, portal: {} }),
      );
    const before = await stateOf(empty);
    const name = await clones.clone(empty);
    const sent = await clones.count(name, importFile);
    const expected = await clones.contents(name);
    for (let after = 3; after < sent; after += EVERY) {
      const killed = await clones.clone(empty);
      await clones.kill(after, killed, importFile);
      const there = await query(
        killed,
        `select from tenancy.tenants where tenant_slug = 'my-team'`,
      );
      const givenUp = await clones.clone(killed);
      const outcome = await giveUp(givenUp).then(
        () => stateOf(givenUp),
        error => error.message.split('.')[0],
      );
      expect(outcome).toEqual(
        there.length === 0 ? before : 'The import of "my-team" is complete',
      );
      // All of it is there, or nobody sees any.
      if (there.length === 0) {
        await importFile(killed);
      }
      await expect(clones.contents(killed)).resolves.toEqual(expected);
      await clones.drop(killed);
      await clones.drop(givenUp);
    }
  });
});
