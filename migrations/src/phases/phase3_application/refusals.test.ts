import { createTestDatabases } from '@internal/postgres/testUtils';
import { createCatalogDatabase } from '../../__testUtils__/catalogDatabase';
import { forEachTest } from '../../__testUtils__/forEachTest';
import { checkRoleAccess } from '../../schema/roleAccess';

const databases = createTestDatabases({ versions: 'every' });

describe.each(databases.eachSupportedId())('phase 3 on %s', id => {
  const database = forEachTest(() =>
    createCatalogDatabase(databases, id, { entities: 20, phase: 2 }),
  );
  const q = (sql: string) => database.client.query(sql);

  it('refuses rows of other tenants before it changes anything', async () => {
    await q(`insert into tenants (tenant_id, tenant_slug, tenant_name)
             values ('00000000-0000-0000-0000-0000000000aa', 'acme', 'ACME');
             update relations set tenant_id = '00000000-0000-0000-0000-0000000000aa'
              where source_entity_ref like '%-3'`);
    await expect(
      database.migrate(migration => migration.runPhase(3)),
    ).rejects.toMatchObject({
      exitCode: 3,
      message: expect.stringContaining(
        'Rows of relations belong to other tenants than the default one',
      ),
    });
    await expect(
      q(`select from pg_constraint where conname ~ '_one_tenant_check$'`),
    ).resolves.toMatchObject({ rowCount: 0 });
  });

  it.each(['createrole', 'nocreaterole'])(
    'asks a superuser for what a login with %s can not do',
    async attribute => {
      const login = `tenancy_${attribute}_${id.toLowerCase()}`;
      await q(`create role ${login} login ${attribute} password 'only-for-tests';
             grant usage on schema tenancy to ${login}`);
      const refusal = await database.migrate(
        ({ context }) =>
          checkRoleAccess({
            ...context,
            executor: {
              ...context.executor,
              // Roles are the server's, so others may have made them: look for some
              // that nobody has.
              read: (sql, values) =>
                context.executor.read(
                  sql,
                  values?.map(value =>
                    /^portal_/.test(String(value)) ? `no_${value}` : value,
                  ),
                ),
            },
          }).catch(error => error.message),
        {
          mode: 'read',
          connection: {
            ...database.connection,
            user: login,
            password: 'only-for-tests',
          },
        },
      );
      const [, statements] = refusal.split('again:\n');
      const options = (inherit: boolean) =>
        id === 'POSTGRES_14' ? '' : ` with inherit ${inherit}, set true`;
      expect(statements.split('\n')).toEqual([
        'create role portal_admin nologin bypassrls;',
        'create role portal_app login noinherit;',
        `grant portal_admin to ${login}${options(true)};`,
        `grant portal_app to ${login}${options(false)};`,
        `grant portal_admin to portal_app${options(false)};`,
        'grant usage on schema tenancy to portal_app;',
        'grant usage, create on schema tenancy to portal_admin;',
      ]);
    },
  );
});
