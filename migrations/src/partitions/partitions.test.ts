import { createTestDatabases } from '@internal/postgres/testUtils';
import { catalogSnapshot } from '../__testUtils__/catalogSnapshot';
import { changeRole, connectionOf } from '../__testUtils__/roles';
import { faultsOf } from '../phases/phase5_partitions/90_entity_terms/__testUtils__/faults';
import { MigrationSession } from '../session/MigrationSession';
import { givePartition, takeBackPartition } from './move';
import {
  contents,
  countIn,
  describeTenants,
  TEAM,
} from './__testUtils__/tenants';

const databases = createTestDatabases();
const TABLES = ['entities', 'relations', 'refresh_state'];

/** Keeps how many rows the transaction has read of each table by then. */
const noteReads = (when: string) =>
  `select set_config('tenancy.reads_${when}', (
     select jsonb_object_agg(relid, seq_tup_read + coalesce(idx_tup_fetch, 0))
       from pg_stat_xact_user_tables
      where relname ~ '^(entities|relations|refresh_state)')::text, false)`;

const READS_BETWEEN = `
  select jsonb_object_agg(a.key::oid::regclass, a.value::int - coalesce(b.value::int, 0)) as tables
    from jsonb_each_text(current_setting('tenancy.reads_after')::jsonb) a
    left join jsonb_each_text(current_setting('tenancy.reads_before')::jsonb) b using (key)
   where a.value <> coalesce(b.value, '0')`;

describe.each(databases.eachSupportedId())('partitions on %s', id => {
  const { database, give, takeBack, query } = describeTenants(databases, id);

  it('moves the rows of a tenant, and nothing else', async () => {
    const before = await contents(database());
    await expect(give()).resolves.toMatchObject({ changed: true });
    await expect(contents(database())).resolves.toEqual(before);
    await expect(
      countIn(database(), 'relations_tenant_my_team', TEAM),
    ).resolves.toBe(120);
    await expect(
      countIn(database(), 'relations_catch_all', TEAM),
    ).resolves.toBe(0);
    await expect(takeBack()).resolves.toMatchObject({ changed: true });
    await expect(contents(database())).resolves.toEqual(before);
    await expect(
      countIn(database(), 'relations_catch_all', TEAM),
    ).resolves.toBe(120);
  });

  it('leaves the terms of entities as they are, and they go on following', async () => {
    const terms = () =>
      query(
        `select xmin::text, ctid::text, s::text as term from entity_terms s order by 3, 2`,
      );
    const before = await terms();
    expect(before.length).toBeGreaterThan(0);
    await give();
    await expect(terms()).resolves.toEqual(before);
    await query(
      `update entities set deleted_at = now() where tenant_id = '${TEAM}'`,
    );
    await expect(
      query(`select from entity_terms where tenant_id = '${TEAM}'`),
    ).resolves.toEqual([]);
    await query(
      `update entities set deleted_at = null where tenant_id = '${TEAM}'`,
    );
    const again = await terms();
    await takeBack();
    await expect(terms()).resolves.toEqual(again);
    await expect(faultsOf(database())).resolves.toEqual([]);
  });

  it('leaves nothing behind once it is taken back', async () => {
    const before = await catalogSnapshot(database().client);
    const state = await query(
      'select key from tenancy_migration_state order by 1',
    );
    await give();
    await takeBack();
    await expect(catalogSnapshot(database().client)).resolves.toEqual(before);
    await expect(
      query('select key from tenancy_migration_state order by 1'),
    ).resolves.toEqual(state);
  });

  it('makes partitions like the one of the default tenant', async () => {
    await give();
    const snapshot = await catalogSnapshot(database().client);
    for (const table of TABLES) {
      const of = (name: string) => {
        const text = JSON.stringify({
          relations: snapshot.relations.filter(row => row.name === name),
          columns: snapshot.columns.filter(row => row.table === name),
          constraints: snapshot.constraints
            .filter(row => row.table === name)
            .map(row => row.definition)
            .sort(),
          triggers: snapshot.triggers.filter(row =>
            String(row.definition).includes(` ON tenancy.${name} `),
          ),
          indexes: snapshot.indexes
            .filter(row =>
              String(row.definition).includes(` ON tenancy.${name} `),
            )
            .map(row => String(row.definition).replace(/INDEX \S+/, 'INDEX'))
            .sort(),
        });
        return text
          .split(name)
          .join('partition')
          .split('_entity_fkey1')
          .join('_entity_fkey');
      };
      expect(of(`${table}_tenant_my_team`)).toEqual(
        of(`${table}_tenant_default`),
      );
    }
    await expect(
      query(
        `select relname from pg_class c, aclexplode(relacl) a
          where relispartition and a.grantee <> relowner`,
      ),
    ).resolves.toEqual([]);
  });

  it('goes on obeying its foreign keys', async () => {
    await give();
    await query(
      `delete from entities where tenant_id = '${TEAM}' and entity_name = 'part-7'`,
    );
    await expect(
      countIn(database(), 'relations_tenant_my_team', TEAM),
    ).resolves.toBe(118);
    await takeBack();
    await query(`delete from tenants where tenant_id = '${TEAM}'`);
    await expect(
      countIn(database(), 'relations_catch_all', TEAM),
    ).resolves.toBe(0);
  });

  it('fires no trigger of users for rows that move', async () => {
    await query(
      'alter table refresh_state disable trigger refresh_state_touch',
    );
    const read = async () => [
      await query('select count(*)::int from relation_history'),
      await query(`select tgrelid::regclass::text as name, tgname, tgenabled from pg_trigger
        where not tgisinternal and tgname not like 'tenancy%'
          and tgrelid::regclass::text not like '%my_team%' order by 1, 2`),
    ];
    const before = await read();
    await give();
    await expect(read()).resolves.toEqual(before);
    await takeBack();
    await expect(read()).resolves.toEqual(before);
  });

  it('has nothing to do a second time', async () => {
    await give();
    await expect(give()).resolves.toMatchObject({
      changed: false,
      partitions: { entities: 'entities_tenant_my_team' },
    });
    await takeBack();
    await expect(takeBack()).resolves.toEqual({ changed: false });
  });

  // What the neighbours wait for must not depend on how many rows there are.
  it.each(['a superuser', 'a login that inherits portal_admin'])(
    'reads no row of the tables while it locks them, as %s',
    async who => {
      const login = `tenancy_reader_${process.pid}`;
      let { connection } = database();
      if (who !== 'a superuser') {
        await changeRole(
          database().client,
          `create role ${login} login in role portal_admin`,
        );
        connection = await connectionOf(database(), login);
      }
      const read: unknown[] = [];
      const original = MigrationSession.prototype.query;
      const spy = jest
        .spyOn(MigrationSession.prototype, 'query')
        .mockImplementation(async function counted<Row>(
          this: MigrationSession,
          text: string,
          values?: unknown[],
        ): Promise<Row[]> {
          const run = (sql: string) => original.call(this, sql, values);
          if (!/\$exchange\$.*;\s*commit$/s.test(text)) {
            return run(text) as Promise<Row[]>;
          }
          // What was read before in this session may be counted, too.
          const rows = await run(
            `${noteReads('before')};\n${text.replace(
              /commit$/,
              `${noteReads('after')};\ncommit`,
            )}`,
          );
          read.push(...(await run(READS_BETWEEN)));
          return rows as Row[];
        });
      try {
        for (const command of [givePartition, takeBackPartition]) {
          await database().migrate(
            ({ context }) => command(context, 'my-team'),
            { connection },
          );
        }
      } finally {
        spy.mockRestore();
      }
      expect(read).toEqual([{ tables: null }, { tables: null }]);
      if (who !== 'a superuser') {
        await changeRole(database().client, `drop role ${login}`);
      }
    },
  );
});
