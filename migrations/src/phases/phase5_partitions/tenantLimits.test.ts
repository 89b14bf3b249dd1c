import { createTestDatabases } from '@internal/postgres/testUtils';
import { Client } from 'pg';
import { asLogin } from '../../__testUtils__/roles';
import { silentReporter } from '../../Reporter';
import { DEFAULT_TENANT_ID } from '../../schema/tables';
import { readLosses, rollback } from '../../rollback/rollback';
import { addedTable } from './__testUtils__/addedTable';
import { tenantLimits } from './19_tenant_limits';

const databases = createTestDatabases();

const ADD_TENANTS = `
  insert into tenants (tenant_slug, tenant_name, concurrency, requests_per_second, burst)
  values ('acme', 'Acme', 1, null, null), ('globex', 'Globex', null, 50, 200),
         ('initech', 'Initech', null, null, null);`;

describe.each(databases.eachSupportedId())(
  'the limits of single tenants on %s',
  id => {
    const { use, migrated, migratedEarlier, problemsAfter } = addedTable(
      databases,
      id,
      tenantLimits,
    );

    it('are in the registry, which the application reads and does not write', async () => {
      const { database, query, problems } = await use(migrated);
      await query(ADD_TENANTS);
      await asLogin(database, 'portal_app', async client => {
        const { rows } = await client.query(
          'select concurrency, requests_per_second, burst from tenants order by tenant_slug',
        );
        const none = {
          concurrency: null,
          requests_per_second: null,
          burst: null,
        };
        expect(rows).toEqual([
          { ...none, concurrency: 1 },
          none,
          { ...none, requests_per_second: 50, burst: 200 },
          none,
        ]);
        await expect(
          client.query('update tenants set concurrency = 100'),
        ).rejects.toThrow('permission denied for table tenants');
      });
      await expect(problems()).resolves.toEqual([]);
    });

    it.each(['concurrency = 0', 'requests_per_second = 1000001', 'burst = -1'])(
      'are not %s',
      async limit => {
        const { query } = await use(migrated);
        await expect(query(`update tenants set ${limit}`)).rejects.toThrow(
          /violates check constraint/,
        );
      },
    );

    it.each([
      [
        'no column',
        'alter table tenants drop column burst, drop column concurrency',
        /^tenants has no column concurrency, burst of type integer, nullable: run ".*phase5"/,
      ],
      [
        'any number',
        'alter table tenants drop constraint tenants_concurrency_check',
        /^tenants has no valid constraint CHECK \(\(\(concurrency >= 1\) AND \(concurrency <= 10000\)\)\)\.$/,
      ],
    ])('verify finds %s', async (_, sql, problem) => {
      await expect(problemsAfter(sql)).resolves.toContainEqual(
        expect.stringMatching(problem),
      );
    });

    it('get their columns from phase 5 in a database that an earlier version has migrated', async () => {
      const { database, query, problems, warnings } = await use(
        migratedEarlier,
      );
      await query(
        `insert into tenants (tenant_slug, tenant_name) values ('acme', 'Acme')`,
      );
      await expect(warnings()).resolves.toContainEqual(
        expect.stringMatching(/^There is no column for limits in tenants:/),
      );
      await database.migrate(migration => migration.runPhase(5));
      await expect(problems()).resolves.toEqual([]);
      await expect(
        query('select concurrency, requests_per_second, burst from tenants'),
      ).resolves.toEqual(
        Array(2).fill({
          concurrency: null,
          requests_per_second: null,
          burst: null,
        }),
      );
    });

    it('get their columns between the transactions of writers, who do not wait for the longest of them', async () => {
      const { database, query, problems } = await use(migratedEarlier);
      const insert = (name: string) =>
        `insert into entities (tenant_id, entity_ref, entity_kind, entity_namespace,
                               entity_name, final_entity, hash)
         values ('${DEFAULT_TENANT_ID}', 'component:default/${name}', 'component', 'default',
                 '${name}', '{}', 'x')`;
      const writer = new Client(database.connection);
      await writer.connect();
      try {
        // Its foreign key has locked the row of the tenant, and with that the table.
        await writer.query(
          `set search_path = tenancy; begin; ${insert('long')}`,
        );
        let isHeldUp = () => {};
        const heldUp = new Promise<void>(resolve => (isHeldUp = resolve));
        const done = database.migrate(migration => migration.runPhase(5), {
          reporter: { ...silentReporter, waiting: isHeldUp },
        });
        await Promise.race([heldUp, done]);
        for (const name of ['short', 'shorter']) {
          await query(insert(name));
        }
        await writer.query('commit');
        await done;
      } finally {
        await writer.end();
      }
      await expect(problems()).resolves.toEqual([]);
      await expect(
        query(`select from entities where hash = 'x'`),
      ).resolves.toHaveLength(3);
    });

    it('stay where the swap alone is undone', async () => {
      const { database, query } = await use(migrated);
      await query(ADD_TENANTS);
      await database.migrate(migration => rollback(migration));
      await expect(
        query('select from tenants where concurrency = 1 or burst = 200'),
      ).resolves.toHaveLength(2);
    });

    it('go with phase 5 only by force, which says what is lost', async () => {
      const { database, query } = await use(migrated);
      await query(ADD_TENANTS);
      await expect(
        database.migrate(migration => rollback(migration, 4)),
      ).rejects.toThrow(
        'tenants holds the limits of 2 tenants, which undoing phase 5',
      );
      await expect(
        query('select from tenants where concurrency = 1'),
      ).resolves.toHaveLength(1);

      const warn = jest.fn();
      const options = {
        settings: { force: true },
        reporter: { ...silentReporter, warn },
      };
      await expect(
        database.migrate(migration => readLosses(migration, 4), options),
      ).resolves.toEqual(['tenants: the limits of 2 tenants']);
      await database.migrate(migration => rollback(migration, 4), options);
      expect(warn).toHaveBeenCalledWith(
        'tenants loses the limits of 2 tenants.',
      );
      await expect(query('select * from tenants limit 1')).resolves.toEqual([
        expect.not.objectContaining({ concurrency: expect.anything() }),
      ]);
    });

    it('go with phase 5 without force where there are none', async () => {
      const { database, query } = await use(migrated);
      await database.migrate(migration => rollback(migration, 4));
      const [row] = await query('select * from tenants');
      expect(Object.keys(row)).not.toContain('burst');
      await database.migrate(migration => migration.runPhase(5));
      const [again] = await query('select * from tenants');
      expect(again).toMatchObject({ burst: null, concurrency: null });
    });
  },
);
