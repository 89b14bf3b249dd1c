import { Postgres } from '@internal/postgres';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { openCatalogDatabase } from '../../__testUtils__/catalogDatabase';
import { runPhases } from '../../__testUtils__/runPhases';
import { seedCatalog } from '../../__testUtils__/seed';
import { EXIT_CODES } from '../../errors';
import { findings, preflight } from '../../preflight/__testUtils__/preflight';

// Roles belong to the server, so each test has one that nobody else uses.
describe('roles of an operator with the names of ours', () => {
  let folder: string;
  let server: Postgres;
  let client: Client;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'roles-'));
    server = await Postgres.start({ version: 18, dataDirectory: folder });
    client = new Client(server.connectionString());
    await client.connect();
    await seedCatalog(client, { entities: 5 });
  });
  afterAll(async () => {
    await client.end();
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const readRoles = async () =>
    (
      await client.query(
        `select r.rolname as role, rolcanlogin, rolinherit, rolsuper, rolbypassrls,
                array(select g.rolname::text from pg_auth_members m join pg_roles g on g.oid = m.roleid
                       where m.member = r.oid) as groups
           from pg_roles r where r.rolname ~ '^portal_' order by 1`,
      )
    ).rows;

  it('are refused by name, and stay as they are until the operator changes them', async () => {
    await client.query(
      `create role staff;
       create role portal_admin login;
       create role portal_app inherit login in role staff`,
    );
    const before = await readRoles();
    const database = await openCatalogDatabase({
      connectionString: server.connectionString(),
    });
    try {
      const [found] = findings(await preflight(database), 'failure', 'roles');
      expect(found.message).toMatch(
        /^portal_admin may log in, portal_app inherits from its roles, portal_app is a member of staff: /,
      );
      await expect(runPhases(database, 3)).rejects.toMatchObject({
        exitCode: EXIT_CODES.refused,
        message: expect.stringContaining('alter role portal_admin nologin'),
      });
      expect(await readRoles()).toEqual(before);
      await client.query(found.sql!);
      await runPhases(database, 3);
    } finally {
      await database.close();
    }
  });
});
