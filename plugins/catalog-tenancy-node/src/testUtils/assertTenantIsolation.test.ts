import { createTestDatabases } from '@internal/postgres/testUtils';
import {
  createTenancyDatabase,
  type TenancyDatabase,
} from '../__testUtils__/tenancyDatabase';
import { PooledTenantDatabase } from '../database/PooledTenantDatabase';
import { type TenantTable } from '../database/TenantDatabase';
import { assertTenantIsolation } from './assertTenantIsolation';

const databases = createTestDatabases({ versions: 'newest' });

describe.each(databases.eachSupportedId())(
  'the proof of isolation on %s',
  id => {
    let database: TenancyDatabase;
    let tenantDatabase: PooledTenantDatabase;
    let tenants: [string, string];

    beforeAll(async () => {
      database = await createTenancyDatabase(databases, id);
      tenantDatabase = new PooledTenantDatabase(database.pool);
    });

    beforeEach(async () => {
      tenants = [await database.createTenant(), await database.createTenant()];
    });

    afterAll(() => database.close());

    /** The same entity refs for every tenant. */
    async function insertEntities(tenantId: string): Promise<void> {
      await database.client.query(
        `with inserted as (
           insert into entities (tenant_id, entity_ref, entity_kind, entity_name,
                                 final_entity, hash)
           select $1, 'component:default/' || name, 'component', name, '{}', ''
             from unnest(array['a', 'b']) name
           returning entity_id, entity_ref
         ), related as (
           insert into relations (tenant_id, originating_entity_id,
                                  source_entity_ref, type, target_entity_ref)
           select $1, entity_id, entity_ref, 'dependsOn', entity_ref from inserted
         )
         insert into refresh_state (tenant_id, entity_id)
         select $1, entity_id from inserted`,
        [tenantId],
      );
    }

    const columns: Record<TenantTable, string> = {
      entities: 'entity_id',
      relations: 'originating_entity_id',
      refresh_state: 'entity_id',
    };
    const tables = Object.keys(columns) as TenantTable[];

    /** As code of a plugin does it. */
    const readOf = (table: TenantTable) => async (tenantId: string) => {
      const rows = await tenantDatabase.query<Record<string, string>>(
        tenantId,
        scope => scope.table(table).select(columns[table]),
      );
      return rows.map(row => row[columns[table]]);
    };

    /** Without the scope, as a user whom no policy binds. */
    async function readEverything(): Promise<string[]> {
      const { rows } = await database.client.query(
        'select entity_id from entities',
      );
      return rows.map(row => row.entity_id);
    }

    function prove(options: {
      table?: TenantTable;
      column?: string;
      read?: (tenantId: string) => Promise<string[]>;
    }): Promise<void> {
      const { table = 'entities', column, read = readOf(table) } = options;
      return assertTenantIsolation({
        database: tenantDatabase,
        tenants,
        table,
        column,
        read,
      });
    }

    describe('with the same entity refs in both tenants', () => {
      beforeEach(async () => {
        await insertEntities(tenants[0]);
        await insertEntities(tenants[1]);
      });

      it.each(tables)('passes for %s, and changes nothing', async table => {
        const read = readOf(table);
        const before = await Promise.all(tenants.map(read));
        await expect(prove({ table })).resolves.toBeUndefined();
        await expect(Promise.all(tenants.map(read))).resolves.toEqual(before);
      });

      it.each(tables)(
        'fails without the policy on %s, though the code has its predicate',
        async table => {
          const { rows } = await database.client.query(
            `select pg_get_expr(polqual, polrelid) as condition from pg_policy
              where polrelid = $1::regclass`,
            [table],
          );
          const alter = (condition: string) =>
            database.client.query(
              `alter policy tenant_isolation on ${table}
                 using (${condition}) with check (${condition})`,
            );
          await alter('true');
          await expect(prove({ table })).rejects.toThrow(
            /^Isolation of tenants in \w+ is not shown: .* is the policy missing/,
          );
          await alter(rows[0].condition);
          await expect(prove({ table })).resolves.toBeUndefined();
        },
      );

      it('fails for code that reads the rows of all tenants', async () => {
        await expect(prove({ read: readEverything })).rejects.toThrow(
          /values that the tenant does not have/,
        );
      });

      it('fails for code that reads the rows of the other tenant only', async () => {
        const read = (tenantId: string) =>
          readOf('entities')(tenants.find(tenant => tenant !== tenantId)!);
        await expect(prove({ read })).rejects.toThrow(
          /2 of 2 values that the tenant does not have/,
        );
      });

      it('does not pass for code that reads nothing', async () => {
        await expect(prove({ read: async () => [] })).rejects.toThrow(
          /nothing would be proven/,
        );
      });

      it('does not pass by a column that tells the tenants not apart', async () => {
        await expect(
          prove({
            column: 'entity_ref',
            read: async () => ['component:default/a'],
          }),
        ).rejects.toThrow(/nothing can tell their rows apart/);
      });
    });

    it('does not pass on an empty table', async () => {
      await expect(prove({})).rejects.toThrow(
        /has no rows there, so nothing would be proven/,
      );
    });
  },
);
