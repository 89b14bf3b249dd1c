import { createTestDatabases } from '@internal/postgres/testUtils';
import type { Client } from 'pg';
import { forAllTests } from '../../../__testUtils__/forEachTest';
import { createCatalogDatabase } from '../../../__testUtils__/catalogDatabase';
import { asLogin } from '../../../__testUtils__/roles';
import { runPhases } from '../../../__testUtils__/runPhases';
import { APP_ROLE } from '../../../roles';
import { createCatalogTables } from '../../../__testUtils__/seed';
import { faultsOf } from './__testUtils__/faults';

const databases = createTestDatabases();
const TEAM = '00000000-0000-0000-0000-0000000000aa';
const OTHER = '00000000-0000-0000-0000-0000000000bb';

describe.each(databases.eachSupportedId())('entity_terms on %s', id => {
  const database = forAllTests(() =>
    createCatalogDatabase(databases, id, { seed: false }),
  );
  beforeAll(async () => {
    await createCatalogTables(database.client);
    await runPhases(database, 5);
  });

  beforeEach(async () => {
    await database.client.query(`
      delete from tenants where tenant_slug in ('team', 'other');
      insert into tenants (tenant_id, tenant_slug, tenant_name)
      values ('${TEAM}', 'team', 'Team'), ('${OTHER}', 'other', 'Other')`);
  });
  // Whatever a test has done.
  afterEach(async () => {
    const faults = await faultsOf(database);
    if (faults.length > 0) {
      throw new Error(faults.join('\n'));
    }
  });

  /** Entities `<prefix>-1` and so on, each with its number as a term. */
  const insert = (client: Client, tenant: string, count = 3, prefix = 'e') =>
    client.query(
      `insert into entities (tenant_id, entity_ref, entity_kind, entity_namespace,
                             entity_name, final_entity, hash)
       select $1, format('component:default/%s-%s', $3::text, i), 'component', 'default',
              format('%s-%s', $3::text, i),
              jsonb_build_object('kind', 'Component', 'spec', jsonb_build_object('number', i),
                'metadata', jsonb_build_object('name', format('%s-%s', $3::text, i))), ''
         from generate_series(1, $2::int) i`,
      [tenant, count, prefix],
    );

  async function numbers(tenant = TEAM): Promise<string[]> {
    const { rows } = await database.client.query<{ value: string }>(
      `select value from entity_terms
        where tenant_id = $1 and key = 'Snumber' order by value`,
      [tenant],
    );
    return rows.map(({ value }) => value);
  }

  async function rowVersions(): Promise<unknown[]> {
    const { rows } = await database.client.query(
      `select key, value, xmin::text, ctid::text from entity_terms order by 1, 2, 3, 4`,
    );
    return rows;
  }

  /** Works as the application does, for a tenant. */
  const asApp = <T>(tenant: string, use: (client: Client) => Promise<T>) =>
    asLogin(database, APP_ROLE, async client => {
      await client.query(`select set_config('app.tenant_id', $1, false)`, [
        tenant,
      ]);
      return use(client);
    });

  it('does not walk down an entity without end', async () => {
    const nested = (levels: number) =>
      `{"spec":${'['.repeat(levels)}${Array(5000).fill(1).join()}${']'.repeat(
        levels,
      )}}`;
    await insert(database.client, TEAM, 2);
    await database.client.query(`set temp_file_limit = '50MB'`);
    try {
      for (const [name, levels] of [
        ['e-1', 100],
        ['e-2', 2000],
      ] as const) {
        await database.client.query(
          `update entities set final_entity = $1 where tenant_id = $2 and entity_name = $3`,
          [nested(levels), TEAM, name],
        );
      }
    } finally {
      await database.client.query('reset temp_file_limit');
    }
    const { rows } = await database.client.query(
      `select entity_name from entity_terms join entities using (tenant_id, entity_id)
        where tenant_id = $1 and key = 'spec'`,
      [TEAM],
    );
    expect(rows).toEqual([{ entity_name: 'e-1' }]);
  });

  it('has the terms of what the application writes, and no others', async () => {
    await asApp(TEAM, async client => {
      await insert(client, TEAM);
      await expect(numbers()).resolves.toEqual(['1', '2', '3']);
      await client.query(
        `update entities set final_entity = jsonb_set(final_entity, '{spec,number}', '7')
          where entity_name = 'e-2'`,
      );
      await expect(numbers()).resolves.toEqual(['1', '3', '7']);
      await client.query(
        `update entities set deleted_at = now() where entity_name in ('e-1', 'e-2')`,
      );
      await expect(numbers()).resolves.toEqual(['3']);
      await client.query(
        `update entities set deleted_at = null,
                final_entity = jsonb_set(final_entity, '{spec,number}', '8')
          where entity_name = 'e-1'`,
      );
      await expect(numbers()).resolves.toEqual(['3', '8']);
      await client.query(`delete from entities where entity_name = 'e-3'`);
      await expect(numbers()).resolves.toEqual(['8']);
    });
  });

  it('is written together with the entity, or not at all', async () => {
    await asApp(TEAM, async client => {
      await client.query('begin');
      await insert(client, TEAM);
      await expect(numbers()).resolves.toEqual([]);
      await client.query('rollback');
      await expect(numbers()).resolves.toEqual([]);
    });
  });

  it('follows inserts that become updates, and ids and tenants that change', async () => {
    const { client } = database;
    await insert(client, TEAM, 2);
    await client.query(`
      insert into entities (tenant_id, entity_ref, entity_kind, entity_namespace,
                            entity_name, final_entity, hash)
      select '${TEAM}', 'component:default/e-' || i, 'component', 'default', 'e-' || i,
             jsonb_build_object('spec', jsonb_build_object('number', 10 * i)), ''
        from generate_series(2, 3) i
          on conflict (tenant_id, entity_ref) do update set final_entity = excluded.final_entity`);
    await expect(numbers()).resolves.toEqual(['1', '20', '30']);
    await client.query(`
      update entities set entity_id = gen_random_uuid() where entity_name = 'e-1';
      update entities set tenant_id = '${OTHER}' where entity_name = 'e-2'`);
    await expect(numbers()).resolves.toEqual(['1', '30']);
    await expect(numbers(OTHER)).resolves.toEqual(['20']);
  });

  it('follows statements about very many entities, after plans for few were made', async () => {
    const { client } = database;
    await insert(client, TEAM, 1, 'few');
    await client.query('update entities set final_entity = final_entity - $1', [
      'kind',
    ]);
    await insert(client, TEAM, 1200, 'many');
    await client.query(
      `update entities set final_entity = jsonb_set(final_entity, '{spec,number}', '0')
        where tenant_id = '${TEAM}'`,
    );
    await expect(numbers()).resolves.toEqual(Array(1201).fill('0'));
    await client.query(`delete from entities where entity_name <> 'few-1'`);
    await expect(numbers()).resolves.toEqual(['0']);
  });

  it('loses what a deleted tenant had, and nothing of others', async () => {
    await insert(database.client, TEAM);
    await insert(database.client, OTHER, 2);
    await database.client.query(
      `delete from tenants where tenant_slug = 'team'`,
    );
    await expect(numbers()).resolves.toEqual([]);
    await expect(numbers(OTHER)).resolves.toEqual(['1', '2']);
  });

  it('follows a TRUNCATE, and a session that plays a replica', async () => {
    const { client } = database;
    await insert(client, TEAM);
    await client.query('truncate entities cascade');
    await expect(numbers()).resolves.toEqual([]);
    await client.query('set session_replication_role = replica');
    await insert(client, TEAM, 1);
    await client.query('set session_replication_role = origin');
    await expect(numbers()).resolves.toEqual(['1']);
  });

  it('keeps the longest keys and values, of letters that take the most bytes', async () => {
    // Three bytes each, in an order that PostgreSQL does not compress.
    const letters = (length: number, seed: number) =>
      Array.from({ length }, (_, index) =>
        String.fromCharCode(0x10a0 + ((index * index * seed + index * 7) % 38)),
      ).join('');
    const name = letters(200 - 'spec.'.length, 11);
    const value = letters(200, 5);
    await database.client.query(
      `insert into entities (tenant_id, entity_ref, entity_kind, entity_namespace,
                             entity_name, final_entity, hash)
       values ($1, 'component:default/long', 'component', 'default', 'long', $2, '')`,
      [TEAM, JSON.stringify({ kind: 'Component', spec: { [name]: value } })],
    );
    const { rows } = await database.client.query(
      `select value, original_value from entity_terms where tenant_id = $1 and key like 'S%'`,
      [TEAM],
    );
    expect(rows).toEqual([
      { value: value.toLowerCase(), original_value: value },
    ]);
  });

  it('leaves the terms alone that are the same', async () => {
    const { client } = database;
    await insert(client, TEAM);
    const before = await rowVersions();
    await client.query(
      `update entities set updated_at = now(), hash = 'other', final_entity = final_entity`,
    );
    await expect(rowVersions()).resolves.toEqual(before);
    await client.query(
      `update entities set final_entity = jsonb_set(final_entity, '{spec,number}', '9')
        where entity_name = 'e-3'`,
    );
    const after = await rowVersions();
    const changed = after.filter(
      row => !before.some(old => JSON.stringify(old) === JSON.stringify(row)),
    );
    expect(changed).toMatchObject([{ key: 'Snumber', value: '9' }]);
    expect(after).toHaveLength(before.length);
  });

  it('takes the id of an entity for the one that it does not say', async () => {
    await insert(database.client, TEAM, 1);
    const { rows } = await database.client.query(
      `select s.value = e.entity_id::text as same, n.values
         from entities e join entity_terms s using (tenant_id, entity_id),
              lateral (select array_agg(value order by value) as values from entity_terms n
                        where n.entity_id = e.entity_id and n.key = 'Mnamespace') n
        where s.key = 'Muid'`,
    );
    expect(rows).toEqual([{ same: true, values: ['default', null] }]);
  });

  it('shows the application the terms of the tenant that is set', async () => {
    await insert(database.client, TEAM);
    await insert(database.client, OTHER, 2);
    const count = (client: Client) =>
      client.query(
        `select count(*)::int as n from entity_terms where key = 'Snumber'`,
      );
    await asApp(OTHER, async client => {
      await expect(count(client)).resolves.toMatchObject({ rows: [{ n: 2 }] });
      await client.query('reset app.tenant_id');
      for (const table of ['entity_terms', 'entity_parents']) {
        await expect(client.query(`select from ${table}`)).rejects.toThrow(
          `permission denied for table ${table}`,
        );
      }
    });
  });

  it('lets the application write no term by itself', async () => {
    await insert(database.client, TEAM);
    await asApp(TEAM, async client => {
      for (const statement of [
        `insert into entity_terms (tenant_id, entity_id, key) values ('${TEAM}', gen_random_uuid(), 'k')`,
        'update entity_terms set value = null',
        'delete from entity_terms',
        'truncate entity_terms',
        `insert into entity_parents values ('${TEAM}', 'a', 'b')`,
        'delete from entity_parents',
        `select entity_terms_sync('${TEAM}', '{}', '{}')`,
        `select entity_terms_repair('${TEAM}', gen_random_uuid())`,
        `select entity_terms_of('{}', gen_random_uuid())`,
      ]) {
        await expect(client.query(statement)).rejects.toThrow(
          /permission denied for (table|function) entity_/,
        );
      }
    });
  });

  it('lets the application fire its function for no table of its own', async () => {
    await asApp(TEAM, async client => {
      await client.query('create temporary table forged (like entities)');
      await expect(
        client.query(`create trigger forge after insert on forged
          referencing new table as new_rows
          for each statement execute function entity_terms_follow()`),
      ).rejects.toThrow('permission denied for function entity_terms_follow');
    });
  });

  it('can be published, whatever the publication has', async () => {
    const { client } = database;
    await client.query('create publication everything for all tables');
    try {
      await insert(client, TEAM);
      await client.query(
        `update entities set final_entity = '{"spec": {"number": 4}}' where entity_name = 'e-1'`,
      );
      await expect(numbers()).resolves.toEqual(['2', '3', '4']);
    } finally {
      await client.query('drop publication everything');
    }
  });

  it.each([
    [
      'a term that is missing',
      `delete from entity_terms where key = 'Snumber' and value = '1'`,
    ],
    [
      'a term that no entity has',
      `insert into entity_terms (tenant_id, entity_id, key)
       select tenant_id, entity_id, 'odd' from entities where entity_name = 'e-1'`,
    ],
    [
      'a term that is there twice',
      `insert into entity_terms select * from entity_terms
        where key = 'Mnamespace' and value is null and entity_id =
          (select entity_id from entities where entity_name = 'e-1')`,
    ],
    [
      'another spelling',
      `update entity_terms set original_value = 'KIND'
        where key = 'kind' and entity_id =
          (select entity_id from entities where entity_name = 'e-1')`,
    ],
    [
      'terms of an entity that is gone',
      `insert into entity_terms (tenant_id, entity_id, key)
       values ('${TEAM}', 'ffffffff-ffff-ffff-ffff-ffffffffffff', 'k')`,
    ],
    [
      'terms of a tenant that is gone',
      `insert into entity_terms (tenant_id, entity_id, key)
       values (gen_random_uuid(), gen_random_uuid(), 'k')`,
    ],
  ])('is verified, and mended as the complaint says: %s', async (_, fault) => {
    const { client } = database;
    await insert(client, TEAM);
    await client.query(fault);
    const [complaint] = await faultsOf(database);
    expect(complaint).toContain('The terms of 1 entity in entity_terms');
    await client.query(/select entity_terms_repair\(.*\);/.exec(complaint)![0]);
  });
});
