import { createTestDatabases, withClient } from '@internal/postgres/testUtils';
import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { forAllTests } from '../__testUtils__/forEachTest';
import {
  failure,
  runInProcess,
  startCli,
  urlEnvironment,
  urlOf,
} from '../cli/__testUtils__/runCli';
import { migrateTo } from '../migrateTo';
import { OTHER, TEAM } from '../partitions/__testUtils__/tenants';
import { type Reporter, silentReporter } from '../Reporter';
import { HEX, PLUGIN_TABLES, tablesIn } from './__testUtils__/plugins';
import {
  createLogin,
  EVERY,
  giveEngineTables,
  JSON_NULLS,
  obey,
  TenantClones,
  READ_JSON_NULLS,
  tableMaker,
  WITHOUT_MD5,
} from './__testUtils__/tenantClones';
import { importTenant } from './import';
import { moveToDeployment } from './move';
import { refuseWrites } from './refusedWrites';
import { mockupSections } from './sections';

// A move between two databases is killed between some of its statements; between all of them with
// KILL_AFTER_EVERY=1.

const databases = createTestDatabases();

/** Tables of an engine whose rows go with the row that they refer to. */
const chainIn = (schema: string) => `
  create table "${schema}".roots (id int primary key);
  create table "${schema}".stems (
    id int primary key, root int references "${schema}".roots on delete cascade);
  create table "${schema}".leaves (
    id int primary key, stem int references "${schema}".stems on delete cascade)`;

/** What the engine writes while the tenant is copied. */
const CHANGES_OF_ENGINE = `
  delete from tenant_${HEX}.edges where id = 2;
  insert into tenant_${HEX}.states values (gen_random_uuid(), 'c', 1.10, now(), null, null);
  update tenant_${HEX}.states set more = '{"new": 1}' where ref = 'b';
  insert into tenant_${HEX}.edges (source) values ('c');
  -- There, the deletion of the root takes the stem, and with it a leaf that is as it was.
  update tenant_${HEX}.stems set root = 2;
  delete from tenant_${HEX}.roots where id = 1`;

/** What requests write that were let in before the tenant was read-only. */
const CHANGES_OF_REGISTRY = `
  delete from tenancy.entities where tenant_id = '${TEAM}' and entity_name like '%1%';
  update tenancy.entities set hash = 'x' where tenant_id = '${TEAM}' and entity_name like '%2%';
  update tenancy.tenants set tenant_name = 'Moving' where tenant_id = '${TEAM}'`;

const CHANGES_OF_MOCKUPS = `
  delete from plugins.mockup_pages where tenant_id = '${TEAM}';
  delete from plugins.mockups where id in (
    select id from plugins.mockups where tenant_id = '${TEAM}' limit 1);
  update plugins.mockups set owner = 'user:default/new' where tenant_id = '${TEAM}'`;

const IS_READ_ONLY = 'Copying what is left. The tenant is read-only';

const REFUSED = '25006 tenant_moves my-team';

const AS_TEAM = `set app.tenant_id = '${TEAM}'`;

const LATE_CHANGES = [
  `insert into tenant_${HEX}.edges (source) values ('b')`,
  `delete from tenant_${HEX}.edges`,
  `${AS_TEAM}; insert into plugins.mockups (tenant_id) values ('${TEAM}')`,
  `${AS_TEAM}; update plugins.mockup_versions set layout_data = '[]' where tenant_id = '${TEAM}'`,
  `${AS_TEAM}; delete from plugins.mockup_pages where tenant_id = '${TEAM}'`,
];

/** What nobody else may miss there. */
const OF_OTHERS = `
  select md5(string_agg(row, E'\\n' order by row)) as sum, count(*)::int as rows from (
    select e::text as row from tenancy.entities e where tenant_id <> '${TEAM}'
    union all select r::text from tenancy.relations r where tenant_id <> '${TEAM}'
    union all select a::text from tenancy.tenant_audit a where tenant_id <> '${TEAM}'
    union all select p::text from plugins.mockup_pages p where tenant_id <> '${TEAM}'
    union all select m::text from plugins.mockups m where tenant_id <> '${TEAM}') others`;

/** An operation of before whose outcome is stored late. */
const RECORDED = `
  insert into tenancy.tenant_audit (tenant_id, event_id, at, plugin, event, severity, outcome)
  values ('${TEAM}', gen_random_uuid(), now(), 'tenants', 'late', 'medium', 'succeeded')`;

/** The transaction goes on when another one waits for it. */
const UNTIL_WAITED_FOR = `
  do $wait$ begin
    while not exists (
      select from pg_locks where not granted and pg_blocking_pids(pid) @> array[pg_backend_pid()]) loop
      if clock_timestamp() > now() + interval '1 minute' then
        raise exception 'Nobody waits';
      end if;
      perform pg_sleep(0.01);
    end loop;
  end $wait$`;

/** Runs statements in a process of its own, and prints why they have failed, if so. */
const STATEMENTS = `
  const { connection, pg, sql } = JSON.parse(process.env.STATEMENTS);
  const client = new (require(pg).Client)(connection);
  client.connect().then(() => client.query(sql)).then(
    () => '', ({ code, constraint = '', detail = '' }) => [code, constraint, detail].join(' ').trim(),
  ).then(reason => { process.stdout.write(reason); return client.end(); });`;

describe.each(databases.eachSupportedId())('the move of a tenant on %s', id => {
  const clones = forAllTests(() =>
    TenantClones.of(
      databases,
      id,
      `${chainIn(`tenant_${HEX}`)};
       insert into tenant_${HEX}.roots values (1), (2);
       insert into tenant_${HEX}.stems values (1, 1);
       insert into tenant_${HEX}.leaves values (1, 1)`,
    ),
  );
  let full: string;
  let empty: string;

  const makeTables = tableMaker(chainIn);
  const query = (database: string, sql: string) => clones.query(database, sql);

  /** The command goes on when they have ended. Returns why they have failed, if so. */
  const meanwhile = (database: string, sql: string): string =>
    execFileSync(process.execPath, ['-e', STATEMENTS], {
      encoding: 'utf8',
      env: {
        ...process.env,
        STATEMENTS: JSON.stringify({
          connection: clones.to(database),
          pg: require.resolve('pg'),
          sql,
        }),
      },
    });

  beforeAll(async () => {
    empty = await clones.copy();
    await clones.purge(empty);
    // As a moment after a move from there.
    await clones.migrate(empty, async ({ context: { executor } }) =>
      refuseWrites(
        executor,
        { tenantId: TEAM, slug: 'my-team', registry: 'tenancy' },
        await mockupSections(executor),
      ),
    );
    full = await clones.copyInUse();
  });
  /** The command goes on when what it reports to has returned. */
  const move = async (
    from: string,
    to: string,
    reporter: Partial<Reporter> = {},
  ): Promise<boolean> => {
    let readOnlyMs: number | undefined;
    await clones.migrate(from, source =>
      clones.migrate(to, async destination => {
        readOnlyMs = await moveToDeployment(
          {
            ...source.context,
            reporter: { ...silentReporter, ...reporter },
          },
          {
            tenant: { tenantId: TEAM, slug: 'my-team' },
            portal: {},
            to: { context: destination.context, portal: {} },
            makeTables,
          },
        );
      }),
    );
    return readOnlyMs !== undefined;
  };

  const movePair = ([from, to]: string[]) => move(from, to);

  const isActive = async (database: string): Promise<boolean> => {
    const rows = await query(
      database,
      `select from tenancy.tenants where tenant_id = '${TEAM}' and deleted_at is null`,
    );
    return rows.length > 0;
  };

  const pair = async () => ({
    from: await clones.clone(full),
    to: await clones.clone(empty),
  });

  /** What a purge at the destination leaves. */
  const leftWhenGivenUp = async (to: string) => {
    const name = await clones.clone(to);
    await clones.purge(name, true);
    const left = await query(
      name,
      `select nspname as left from pg_namespace where nspname ~ '${HEX}'
        union all
       select 'mockups' from plugins.mockups where tenant_id = '${TEAM}'`,
    );
    await clones.drop(name);
    return left;
  };

  it('has all of it there, deleted here, and can be repeated', async () => {
    const { from, to } = await pair();
    const before = await clones.contents(from);
    await expect(move(from, to)).resolves.toBe(true);
    await expect(clones.contents(to)).resolves.toEqual(before);
    await expect(clones.contents(from)).resolves.toEqual(before);
    expect(await isActive(from)).toBe(false);
    expect(await isActive(to)).toBe(true);
    await expect(move(from, to)).resolves.toBe(false);
    await expect(
      query(
        to,
        `insert into tenant_${HEX}.edges (source) values ('b') returning id`,
      ),
    ).resolves.toEqual([{ id: '4' }]);
  });

  it('tells a JSON null from a missing value, also without MD5, as in FIPS mode', async () => {
    const { from, to } = await pair();
    await query(from, `${JSON_NULLS}; ${WITHOUT_MD5}`);
    await query(to, WITHOUT_MD5);
    const before = await query(from, READ_JSON_NULLS);
    await expect(move(from, to)).resolves.toBe(true);
    await expect(query(to, READ_JSON_NULLS)).resolves.toEqual(before);
  });

  it('refuses rows that the destination has changed, and leaves the tenant in use', async () => {
    const { from, to } = await pair();
    await query(
      to,
      `create function plugins.change() returns trigger language plpgsql as
         'begin new.owner := ''user:default/other''; return new; end';
       create trigger change before insert or update on plugins.mockups
         for each row execute function plugins.change()`,
    );
    await expect(move(from, to)).rejects.toThrow(
      "The copied rows of mockups mockups differ from the source's, where the tenant stays. Run the command again.",
    );
    expect(await isActive(from)).toBe(true);
    expect(await isActive(to)).toBe(false);
    await expect(
      query(
        from,
        `select from tenancy.tenants where read_only_until is not null`,
      ),
    ).resolves.toEqual([]);
  });

  it('brings what was written meanwhile, and lets nothing be written at the end', async () => {
    const { from, to } = await pair();
    // Enough that each bucket has some.
    await query(
      to,
      `insert into tenancy.tenant_audit (tenant_id, event_id, at, plugin, event, severity, meta)
       select '${OTHER}', gen_random_uuid(), now(), 'tenants', 'n', 'medium', '{}'
         from generate_series(1, 20000)`,
    );
    const ofOthers = await query(to, OF_OTHERS);
    const done: string[] = [];
    const refused: string[] = [];
    const info = (text: string) => {
      if (text === IS_READ_ONLY) {
        done.push(meanwhile(from, CHANGES_OF_ENGINE));
        done.push(meanwhile(from, CHANGES_OF_MOCKUPS));
      }
      if (text === 'Copying engine' && done.length === 2) {
        done.push(meanwhile(from, CHANGES_OF_REGISTRY));
      }
      if (text === 'Copying registry' && done.length === 3) {
        refused.push(
          meanwhile(
            from,
            `set lock_timeout = 50; update tenancy.tenants set burst = 1 where tenant_id = '${TEAM}'`,
          ),
        );
        done.push(meanwhile(from, RECORDED));
      }
    };
    await move(from, to, { info });
    expect(done).toEqual(['', '', '', '']);
    expect(refused).toEqual(['55P03']);
    const after = await clones.contents(to);
    await expect(clones.contents(from)).resolves.toEqual(after);
    expect(after.rows.join()).toContain('"late"');
    expect(after.rows).toContain('{"id": 1, "stem": 1}');
    expect(after.rows.join()).toContain('"Moving"');
    expect(after.rows.join()).toContain('user:default/new');
    await expect(query(to, OF_OTHERS)).resolves.toEqual(ofOthers);
  });

  it('refuses a writer that was let in before and begins late', async () => {
    const { from, to } = await pair();
    const codes: string[] = [];
    const writeAll = () =>
      LATE_CHANGES.forEach(sql => codes.push(meanwhile(from, sql)));
    let isLast = false;
    await move(from, to, {
      info(text) {
        isLast ||= text === IS_READ_ONLY;
        if (isLast && text === 'Copying mockups') {
          writeAll();
        }
      },
    });
    writeAll();
    expect(codes).toEqual(Array(2 * LATE_CHANGES.length).fill(REFUSED));
    // A migration of the mockups' tables, at a start of the backend.
    expect(
      meanwhile(from, `update plugins.mockups set owner = coalesce(owner, '')`),
    ).toBe('');
    await expect(
      query(
        from,
        `insert into plugins.mockups (tenant_id) values ('${OTHER}') returning owner`,
      ),
    ).resolves.toHaveLength(1);
    // It comes back, and can be written to from then on. Where it was, it can be purged.
    const early: string[] = [];
    await move(to, from, {
      info(text) {
        if (text === 'Copying mockups' || text === 'Copying registry') {
          LATE_CHANGES.forEach(sql => early.push(meanwhile(from, sql)));
        }
      },
    });
    expect(early.length).toBeGreaterThanOrEqual(6 * LATE_CHANGES.length);
    expect(new Set(early)).toEqual(new Set([REFUSED]));
    expect(LATE_CHANGES.map(sql => meanwhile(from, sql))).toEqual(
      LATE_CHANGES.map(() => ''),
    );
    expect(meanwhile(to, LATE_CHANGES[2])).toBe(REFUSED);
    await clones.purge(to, true);
  });

  it('lets a tenant be written that is restored where it was, also by an import', async () => {
    const { from, to } = await pair();
    const file = join(clones.folder, 'back.gz');
    const { exitCode } = await runInProcess(
      clones.to(from),
      ...['tenant', 'export', 'my-team', file],
    );
    expect(exitCode).toBe(0);
    const before = await clones.contents(from);
    await move(from, to);
    await query(
      from,
      `update tenancy.tenants set deleted_at = null where tenant_id = '${TEAM}'`,
    );
    const early: string[] = [];
    await clones.migrate(from, ({ context }) =>
      importTenant(context, {
        file,
        replace: true,
        portal: {},
        makeTables,
        async confirm() {
          LATE_CHANGES.forEach(sql => early.push(meanwhile(from, sql)));
        },
      }),
    );
    expect(early).toEqual(LATE_CHANGES.map(() => ''));
    const { rows } = await clones.contents(from);
    const isMockup = (row: string) => row.includes('layout_data');
    expect(rows.filter(isMockup)).toEqual(before.rows.filter(isMockup));
    expect(LATE_CHANGES.map(sql => meanwhile(from, sql))).toEqual(
      LATE_CHANGES.map(() => ''),
    );
  });

  it('waits for a request of before that still writes mockups', async () => {
    const { from, to } = await pair();
    const waits: string[] = [];
    await clones.within(from, async client => {
      await client.query(
        `begin; select pg_current_xact_id(); savepoint nested;
         update plugins.mockups set owner = 'user:default/slow' where tenant_id = '${TEAM}'`,
      );
      await move(from, to, {
        waiting(what) {
          waits.push(what);
          client.query('commit').catch(() => undefined);
        },
      });
    });
    expect(waits).toEqual(['Refuse changes: mockups']);
    expect((await clones.contents(to)).rows.join()).toContain(
      'user:default/slow',
    );
  });

  it('waits for a change of the tenant, and copies that too', async () => {
    const { from, to } = await pair();
    await clones.within(from, async client => {
      let changed: Promise<unknown> | undefined;
      await move(from, to, {
        info(text) {
          if (text === IS_READ_ONLY) {
            changed = client.query(
              `update tenancy.tenants set tenant_name = 'Changed' where tenant_id = '${TEAM}';
               ${UNTIL_WAITED_FOR}`,
            );
          }
        },
      });
      await changed;
    });
    expect((await clones.contents(to)).rows.join()).toContain('"Changed"');
    expect(await isActive(from)).toBe(false);
  });

  it('lets the tenant be written to at once where it is stopped during the last copy', async () => {
    const from = await clones.clone(full);
    // With the tables of its engine, which take the packages of a portal.
    const to = await clones.clone(full);
    await query(to, `update tenancy.tenants set deleted_at = now()`);
    await clones.within(from, async client => {
      await client.query(
        `begin; update plugins.mockups set owner = owner where tenant_id = '${OTHER}'`,
      );
      const command = startCli(['tenant', 'move', 'my-team'], {
        env: {
          ...urlEnvironment(clones.to(from)),
          MIGRATION_TO_URL: urlOf(clones.to(to)),
        },
      });
      await command.said('Waiting for a lock: Refuse changes: mockups');
      expect(meanwhile(from, LATE_CHANGES[0])).toBe(REFUSED);
      command.signal('SIGINT');
      await expect(command.result).resolves.toMatchObject({ exitCode: 130 });
    });
    expect(LATE_CHANGES.map(sql => meanwhile(from, sql))).toEqual(
      LATE_CHANGES.map(() => ''),
    );
    await expect(
      query(
        from,
        `select deleted_at, read_only_until from tenancy.tenants where tenant_id = '${TEAM}'`,
      ),
    ).resolves.toEqual([{ deleted_at: null, read_only_until: null }]);
  });

  it.each([
    ['default', "is the default one, which can't be moved"],
    ['nobody', 'There is no tenant "nobody"'],
    ['other', 'is in use at the destination too'],
    // By its id.
    [OTHER, 'The tenant "other" is in use at the destination too'],
  ])('refuses %s', async (slug, message) => {
    await expect(
      runInProcess(
        clones.to(full),
        ...['tenant', 'move', slug],
        ...['--to-url', urlOf(clones.to(empty))],
      ),
    ).resolves.toMatchObject(failure(message));
  });

  it.each([
    [[], 'The destination is missing. Give'],
    [
      ['--to-url', 'itself'],
      'The destination is the database that the tenant is in',
    ],
  ])('asks for another destination than %j', async (options, message) => {
    const source = clones.to(full);
    const { exitCode, stderr } = await runInProcess(
      source,
      ...['tenant', 'move', 'my-team'],
      ...options.map(each => (each === 'itself' ? urlOf(source) : each)),
    );
    expect(stderr).toContain(message);
    expect(exitCode).toBe(2);
  });

  const DELETED = `update tenancy.tenants set deleted_at = now() where tenant_id = '${TEAM}'`;

  it('names what the login lacks here, and then there, before it begins', async () => {
    const from = await clones.clone(full);
    const to = await clones.clone(full);
    await query(to, DELETED);
    const login = await createLogin(clones.connection, 'move_login');
    await obey(clones.to(to), giveEngineTables('move_owner', 'move_login'));
    const moveAsLogin = () =>
      runInProcess(
        { ...login, database: from },
        ...['tenant', 'move', 'my-team'],
        ...['--to-url', urlOf({ ...login, database: to })],
      );
    for (const [database, right] of [
      [
        from,
        'SELECT, DELETE, TRIGGER on plugins.mockup_comments, plugins.mockup_pages, ',
      ],
      [
        to,
        `the rights of move_owner, which owns the table tenant_${HEX}.counters, `,
      ],
      // With those rights it is known what the owner lacks.
      [to, `CREATE on the schema tenant_${HEX}`],
    ]) {
      const { exitCode, stderr } = await moveAsLogin();
      expect(stderr).toContain(
        `In the database "${database}" the login "move_login" lacks`,
      );
      expect(stderr).toContain(right);
      expect(exitCode).toBe(3);
      await obey(clones.to(database), stderr);
    }
    await expect(moveAsLogin()).resolves.toMatchObject({ exitCode: 0 });
    expect(await isActive(to)).toBe(true);
  });

  it('brings it to the schema that the configuration of the destination names', async () => {
    const from = await clones.clone(full);
    const to = await databases.create(id);
    const schema = 'elsewhere';
    await migrateTo(5, { connection: to, schema, createTables: true });
    const own = `tenant_${HEX}`;
    await withClient(to, client =>
      client.query(
        `${PLUGIN_TABLES}; ${tablesIn(own)}; ${chainIn(own)};
         create schema "${own}_user-settings";
         alter table elsewhere.relations add weight numeric(6, 2), add noted_at timestamptz;
         alter table elsewhere.refresh_state add attempts int`,
      ),
    );
    const file = join(clones.folder, 'elsewhere.yaml');
    const { host, port, user, password, database } = to;
    await writeFile(
      file,
      JSON.stringify({
        tenancy: { schema },
        backend: {
          database: {
            client: 'pg',
            pluginDivisionMode: 'schema',
            connection: { host, port, user, password, database },
          },
        },
      }),
    );
    const { exitCode, stderr } = await runInProcess(
      clones.to(from),
      ...['tenant', 'move', 'my-team', '--to-config', file],
    );
    expect(stderr).not.toContain('Error');
    expect(exitCode).toBe(0);
    const count = (of: string) =>
      `select count(*) from ${of}.entities where tenant_id = '${TEAM}'`;
    await expect(query(to.database!, count(schema))).resolves.toEqual(
      await query(from, count('tenancy')),
    );
  });

  it('refuses a destination with a database of this deployment', async () => {
    const { from, to } = await pair();
    await expect(
      runInProcess(
        clones.to(from),
        ...['tenant', 'move', 'my-team', '--database', full],
        ...['--to-url', urlOf(clones.to(to))],
      ),
    ).resolves.toMatchObject(failure(`"${full}" is one of both deployments.`));
    expect(await isActive(from)).toBe(true);
  });

  it.each([
    [
      'tables of this version',
      `delete from tenancy.tenancy_migrations where name like '%retired_slugs';
       drop table tenancy.retired_slugs`,
      /^Error: The database ".*" lacks tables .* on it first/m,
    ],
    [
      'a column of the registry',
      'alter table tenancy.tenant_members drop column created_by',
      /^Error: The rows of registry tenant_members have created_by, for which/m,
    ],
    [
      'a column of mockups',
      'alter table plugins.mockup_comments drop column author',
      /^Error: The rows of mockups mockup_comments have author, for which/m,
    ],
  ])('refuses a destination without %s', async (_, lacking, message) => {
    const to = await clones.clone(empty);
    await query(to, lacking);
    await expect(
      runInProcess(
        clones.to(full),
        ...['tenant', 'move', 'my-team'],
        ...['--to-url', urlOf(clones.to(to))],
      ),
    ).resolves.toMatchObject(failure(message));
    await expect(
      query(to, `select from tenancy.tenants where tenant_id = '${TEAM}'`),
    ).resolves.toEqual([]);
  });

  it('goes on from wherever it was killed', async () => {
    const whole = await pair();
    const sent = await clones.count([whole.from, whole.to], movePair);
    const expected = await clones.contents(whole.to);
    for (let after = 6; after < sent; after += EVERY) {
      const { from, to } = await pair();
      await clones.kill(after, [from, to], movePair);
      const isThere = await isActive(to);
      // Never in use in both.
      expect((await isActive(from)) && isThere).toBe(false);
      expect(isThere ? [] : await leftWhenGivenUp(to)).toEqual([]);
      await move(from, to);
      await expect(clones.contents(to)).resolves.toEqual(expected);
      expect([await isActive(from), await isActive(to)]).toEqual([false, true]);
      expect(LATE_CHANGES.map(sql => meanwhile(to, sql))).toEqual(
        LATE_CHANGES.map(() => ''),
      );
      await clones.drop(from);
      await clones.drop(to);
    }
  });
});
