import { changeRole, createTestDatabases } from '@internal/postgres/testUtils';
import { createCatalogDatabase } from '../__testUtils__/catalogDatabase';
import type { CatalogDatabase } from '../__testUtils__/catalogDatabase';
import { connectionOf } from '../__testUtils__/roles';
import { runPhases } from '../__testUtils__/runPhases';
import { findings, preflight } from './__testUtils__/preflight';

const databases = createTestDatabases({ versions: 'every' });

// Roles belong to the server, so that each test has one of its own.
let logins = 0;

describe.each(databases.eachSupportedId())('a login on %s', id => {
  let database: CatalogDatabase;
  let login: string;
  beforeEach(async () => {
    database = await createCatalogDatabase(databases, id, { entities: 20 });
    logins += 1;
    login = `preflight_login_${process.pid}_${logins}`;
    await changeRole(database.client, `create role ${login} login`);
  });
  afterEach(async () => {
    await changeRole(database.client, `reassign owned by ${login} to postgres`);
    await changeRole(database.client, `drop owned by ${login}`);
    await changeRole(database.client, `drop role ${login}`);
    await database.close();
  });

  const run = async () =>
    preflight(database, { connection: await connectionOf(database, login) });

  it('without any rights learns what it lacks, and runs into no error', async () => {
    const report = await run();
    expect(findings(report, 'failure').map(({ check }) => check)).toEqual([
      'extensions',
      'privileges',
      'roles',
    ]);
    expect(JSON.stringify(report)).not.toMatch(
      /permission denied|could not be/,
    );
    expect(findings(report, 'warning').map(({ check }) => check)).toEqual([
      'pg_cron',
      'rows',
    ]);
  });

  it('passes when a superuser has run what it was told, and can migrate', async () => {
    const failed = findings(await run(), 'failure');
    expect(failed).not.toEqual([]);
    for (const { sql } of failed) {
      for (const statement of sql!.split(';').filter(text => text.trim())) {
        await changeRole(database.client, statement);
      }
    }
    expect(findings(await run(), 'failure')).toEqual([]);
    const { rows } = await database.client.query(
      `select from pg_roles where rolsuper and pg_has_role($1, oid, 'MEMBER')`,
      [login],
    );
    expect(rows).toEqual([]);
    await runPhases(database, 5, {
      connection: await connectionOf(database, login),
    });
  });

  it('that is a member of the owner and does not inherit passes once told how', async () => {
    const owner = `${login}_owner`;
    await changeRole(database.client, `create role ${owner} nologin`);
    await changeRole(database.client, `alter role ${login} noinherit`);
    await changeRole(database.client, `grant ${owner} to ${login}`);
    await database.client.query(`alter table entities owner to ${owner}`);
    const failed = async () =>
      findings(await run(), 'failure', 'privileges').find(({ message }) =>
        message.includes(owner),
      );
    const found = await failed();
    expect(found?.message).toContain(
      `those of ${owner}, the owner of entities`,
    );
    for (const statement of found?.sql?.split(';') ?? []) {
      await changeRole(database.client, statement);
    }
    await expect(failed()).resolves.toBeUndefined();
    await changeRole(database.client, `reassign owned by ${owner} to postgres`);
    await changeRole(database.client, `drop role ${owner}`);
  });
});
