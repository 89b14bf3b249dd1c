import { createTestDatabases } from '@internal/postgres/testUtils';
import type { Client } from 'pg';
import { forAllTests } from '../../__testUtils__/forEachTest';
import { createCatalogDatabase } from '../../__testUtils__/catalogDatabase';
import { asLogin } from '../../__testUtils__/roles';
import { DEFAULT_TENANT_ID, TENANT_TABLES } from '../../schema/tables';

const databases = createTestDatabases({ versions: 'every' });
const OTHER_TENANT = '00000000-0000-0000-0000-000000000002';

const countEntities = async (client: Client) =>
  (await client.query('select count(*)::int as count from entities')).rows[0]
    .count;

const setTenant = (client: Client, tenant: string) =>
  client.query(`select set_config('app.tenant_id', $1, false)`, [tenant]);

const refusal = (table: string) => ({
  code: '42501',
  message: `permission denied for table ${table}`,
});

describe.each(databases.eachSupportedId())('after phase 4 on %s', id => {
  const database = forAllTests(() =>
    createCatalogDatabase(databases, id, { phase: 4 }),
  );
  beforeAll(async () => {
    await database.client.query(
      `insert into tenants (tenant_id, tenant_slug, tenant_name)
       values ('${OTHER_TENANT}', 'other', 'Other');
       -- Only the policies are to keep tenants apart here.
       alter table entities drop constraint entities_one_tenant_check;
       alter table relations drop constraint relations_one_tenant_check;
       alter table refresh_state drop constraint refresh_state_one_tenant_check`,
    );
  });
  const asApp = <T>(use: (client: Client) => Promise<T>) =>
    asLogin(database, 'portal_app', use);

  it('counts every entity of the default tenant, and none of another', async () => {
    await asApp(async client => {
      await setTenant(client, DEFAULT_TENANT_ID);
      expect(await countEntities(client)).toBe(200);
      await setTenant(client, OTHER_TENANT);
      expect(await countEntities(client)).toBe(0);
    });
  });

  it.each(TENANT_TABLES)(
    'refuses to read %s without a tenant, in the words of a missing right',
    async table => {
      await asApp(async client => {
        await expect(
          client.query(`select from ${table}`),
        ).rejects.toMatchObject({
          ...refusal(table),
          hint: expect.stringContaining('app.tenant_id'),
        });
      });
    },
  );

  it('refuses again once the setting is reset', async () => {
    await asApp(async client => {
      await setTenant(client, DEFAULT_TENANT_ID);
      expect(await countEntities(client)).toBe(200);
      await client.query('reset app.tenant_id');
      await expect(countEntities(client)).rejects.toMatchObject(
        refusal('entities'),
      );
    });
  });

  it('refuses again once the transaction is over that set the tenant', async () => {
    await asApp(async client => {
      await client.query('begin');
      await client.query(`set local app.tenant_id = '${DEFAULT_TENANT_ID}'`);
      expect(await countEntities(client)).toBe(200);
      await client.query('commit');
      const { rows } = await client.query(
        `select current_setting('app.tenant_id', true) as tenant`,
      );
      expect(rows).toEqual([{ tenant: '' }]);
      await expect(countEntities(client)).rejects.toMatchObject(
        refusal('entities'),
      );
    });
  });

  it('refuses a tenant that is not a UUID', async () => {
    await asApp(async client => {
      await setTenant(client, 'default');
      await expect(countEntities(client)).rejects.toMatchObject({
        code: '22P02',
        message: 'invalid input syntax for type uuid: "default"',
      });
    });
  });

  it('refuses an application that turns row-level security off', async () => {
    await asApp(async client => {
      await setTenant(client, OTHER_TENANT);
      await client.query('set row_security = off');
      await expect(countEntities(client)).rejects.toMatchObject({
        code: '42501',
      });
    });
  });

  it('refuses to insert for another tenant, or to hand a row to one', async () => {
    const violation = {
      code: '42501',
      message:
        'new row violates row-level security policy for table "entities"',
    };
    await asApp(async client => {
      await setTenant(client, DEFAULT_TENANT_ID);
      await expect(
        client.query(
          `insert into entities (tenant_id, entity_ref, entity_kind, entity_name,
                                 final_entity, hash)
           values ('${OTHER_TENANT}', 'api:default/x', 'api', 'x', '{}', '')`,
        ),
      ).rejects.toMatchObject(violation);
      await expect(
        client.query(`update entities set tenant_id = '${OTHER_TENANT}'`),
      ).rejects.toMatchObject(violation);
    });
  });

  it('changes and deletes nothing of another tenant', async () => {
    await asApp(async client => {
      await setTenant(client, OTHER_TENANT);
      const updated = await client.query(`update entities set hash = 'x'`);
      const deleted = await client.query('delete from relations');
      expect([updated.rowCount, deleted.rowCount]).toEqual([0, 0]);
    });
  });

  it('refuses to truncate, and to insert without a tenant', async () => {
    await asApp(async client => {
      await setTenant(client, DEFAULT_TENANT_ID);
      await expect(client.query('truncate relations')).rejects.toMatchObject({
        code: '42501',
      });
      // The default is gone that old applications relied on.
      await expect(
        client.query(
          `insert into entities (entity_ref, entity_kind, entity_name, final_entity, hash)
           values ('api:default/x', 'api', 'x', '{}', '')`,
        ),
      ).rejects.toMatchObject({ code: '42501' });
    });
  });

  it('lets the application write in a tenant, with triggers and sequences', async () => {
    await asApp(async client => {
      await client.query('begin');
      await client.query(`set local app.tenant_id = '${OTHER_TENANT}'`);
      const { rows } = await client.query(
        `insert into entities (tenant_id, entity_ref, entity_kind, entity_name,
                               final_entity, hash)
         values ('${OTHER_TENANT}', 'api:default/x', 'api', 'x', '{}', '')
         on conflict do nothing
         returning entity_id`,
      );
      const key = [OTHER_TENANT, rows[0].entity_id];
      await client.query(
        `insert into relations (tenant_id, originating_entity_id, source_entity_ref,
                                type, target_entity_ref)
         values ($1, $2, 'api:default/x', 'ownedBy', 'group:default/a')`,
        key,
      );
      await client.query(
        `insert into refresh_state (tenant_id, entity_id) values ($1, $2)`,
        key,
      );
      const deleted = await client.query('delete from entities');
      expect(deleted.rowCount).toBe(1);
      await client.query('rollback');
    });
  });

  it('binds the owner of a table as well, for it is FORCED', async () => {
    const { client } = database;
    await client.query('begin');
    try {
      await client.query(`
        do $$ begin
          create role tenancy_plain_owner nologin;
        exception when duplicate_object or unique_violation then null; end $$;
        grant usage, create on schema tenancy to tenancy_plain_owner;
        alter table entities owner to tenancy_plain_owner;
        set local role tenancy_plain_owner;
        set local app.tenant_id = '${OTHER_TENANT}'`);
      expect(await countEntities(client)).toBe(0);
    } finally {
      await client.query('rollback');
    }
  });

  it('lets portal_app act as portal_admin, but only by asking for it', async () => {
    await asApp(async client => {
      await expect(countEntities(client)).rejects.toMatchObject(
        refusal('entities'),
      );
      await client.query('set role portal_admin');
      expect(await countEntities(client)).toBe(200);
    });
  });
});
