import { changeRole, createTestDatabases } from '@internal/postgres/testUtils';
import { createCatalogDatabase } from '../../__testUtils__/catalogDatabase';
import type { CatalogDatabase } from '../../__testUtils__/catalogDatabase';
import { catalogSnapshot } from '../../__testUtils__/catalogSnapshot';
import { connectionOf } from '../../__testUtils__/roles';
import { runPhases } from '../../__testUtils__/runPhases';
import { privileges } from './10_privileges';
import { verification } from './50_verification';

const databases = createTestDatabases({ versions: 'every' });

// Roles are the server's and stay, so each test has its own.
let roleNumber = 0;

describe.each(databases.eachSupportedId())(
  'a login that is no superuser on %s',
  id => {
    const opened: CatalogDatabase[] = [];
    afterEach(async () => {
      await Promise.all(opened.splice(0).map(database => database.close()));
    });

    /** A catalog that belongs to a login with no rights beyond that. */
    async function createOwnedCatalog() {
      const database = await createCatalogDatabase(databases, id);
      opened.push(database);
      roleNumber += 1;
      const login = `tenancy_owner_${process.pid}_${roleNumber}`;
      await changeRole(database.client, `create role ${login} login`);
      await database.client.query(`
        do $$ begin
          execute format('grant create on database %I to ${login}', current_database());
        end $$;
        alter schema tenancy owner to ${login};
        alter table entities owner to ${login};
        alter table relations owner to ${login};
        alter table refresh_state owner to ${login};`);
      return {
        database,
        login,
        options: { connection: await connectionOf(database, login) },
      };
    }

    /** Runs what a refusal asks a superuser to run. */
    async function obey(database: CatalogDatabase, refusal: unknown) {
      const statements = String(refusal).split('again:\n')[1].split('\n');
      for (const statement of statements) {
        await changeRole(database.client, statement);
      }
      return statements;
    }

    async function createRoles({ client }: CatalogDatabase) {
      await changeRole(client, 'create role portal_admin nologin bypassrls');
      await changeRole(client, 'create role portal_app login noinherit');
    }

    it('is told what a superuser has to run, and then goes all the way and back', async () => {
      const { database, login, options } = await createOwnedCatalog();
      await createRoles(database);
      await runPhases(database, 2, options);
      const refusal = await database
        .migrate(migration => migration.runPhase(3), options)
        .catch(error => error);
      expect(refusal).toMatchObject({ name: 'RefusedError', exitCode: 3 });
      const statements = await obey(database, refusal);
      expect(statements.slice(0, 2)).toEqual(
        id === 'POSTGRES_14'
          ? [`grant portal_admin to ${login};`, `grant portal_app to ${login};`]
          : [
              `grant portal_admin to ${login} with inherit true, set true;`,
              `grant portal_app to ${login} with inherit false, set true;`,
            ],
      );

      await runPhases(database, 3, options);
      const before = await catalogSnapshot(database.client);
      await runPhases(database, 4, options);
      const after = await catalogSnapshot(database.client);
      expect(after.relations).toContainEqual(
        expect.objectContaining({ name: 'entities', owner: 'portal_admin' }),
      );
      expect(after.policies).toHaveLength(3);

      await database.migrate(
        migration => migration.undoFrom(privileges),
        options,
      );
      expect(await catalogSnapshot(database.client)).toEqual(before);
      await runPhases(database, 4, options);
      expect(await catalogSnapshot(database.client)).toEqual(after);
    });

    it('lets portal_admin find the extension in a schema that PUBLIC may not use, or is told what to run', async () => {
      const { database, login, options } = await createOwnedCatalog();
      const { client } = database;
      await createRoles(database);
      await changeRole(client, `grant portal_admin to ${login}`);
      await changeRole(client, `grant portal_app to ${login}`);
      await client.query(`
        create schema extensions;
        create extension pg_trgm schema extensions`);
      const configured = { ...options, settings: { adminGrant: false } };
      await runPhases(database, 2, configured);
      const refusal = await database
        .migrate(migration => migration.runPhase(3), configured)
        .catch(error => error);
      expect(await obey(database, refusal)).toContain(
        'grant usage on schema extensions to portal_admin;',
      );
      // Once its owner may grant that, it is granted, and taken back.
      await client.query(`
        revoke usage on schema extensions from portal_admin;
        alter schema extensions owner to ${login}`);
      const mayUse = async () =>
        (
          await client.query(
            `select has_schema_privilege('portal_admin', 'extensions', 'usage') as may`,
          )
        ).rows[0].may;
      await runPhases(database, 4, configured);
      expect(await mayUse()).toBe(true);
      // Somebody closes it afterwards.
      await client.query('revoke usage on schema extensions from portal_admin');
      const late = await database
        .migrate(migration => migration.runPhase(5), configured)
        .catch(error => error);
      expect(await obey(database, late)).toEqual([
        'grant usage on schema extensions to portal_admin;',
      ]);
      await runPhases(database, 5, configured);
      await database.migrate(
        migration => migration.undoFrom(privileges),
        configured,
      );
      expect(await mayUse()).toBe(false);
    });

    it('acts as portal_admin from phase 4 on', async () => {
      const { database, login, options } = await createOwnedCatalog();
      await createRoles(database);
      await changeRole(database.client, `grant portal_admin to ${login}`);
      await changeRole(database.client, `grant portal_app to ${login}`);
      const read = { ...options, settings: { adminGrant: false } };
      const whoAmI = () =>
        database.migrate(
          ({ context }) =>
            context.executor.read(
              'select current_user as user, count(*)::int as entities from entities group by 1',
            ),
          { ...read, mode: 'read' },
        );
      await runPhases(database, 3, read);
      expect(await whoAmI()).toEqual([{ user: login, entities: 200 }]);
      const next = await database.migrate(async migration => {
        await migration.runPhase(4);
        return migration.context.executor.read('select current_user as user');
      }, read);
      expect(next).toEqual([{ user: 'portal_admin' }]);
      expect(await whoAmI()).toEqual([{ user: 'portal_admin', entities: 200 }]);
      await changeRole(database.client, `revoke portal_app from ${login}`);
      await expect(
        database.migrate(({ context }) => verification.up(context), read),
      ).rejects.toThrow(`Let a superuser run "grant portal_app to ${login}`);
    });
  },
);
