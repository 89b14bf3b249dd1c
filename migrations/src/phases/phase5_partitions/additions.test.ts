import { createTestDatabases } from '@internal/postgres/testUtils';
import type { CatalogDatabase } from '../../__testUtils__/catalogDatabase';
import { catalogTemplate } from '../../__testUtils__/catalogTemplate';
import { stopBefore } from '../../__testUtils__/stopBefore';
import { silentReporter } from '../../Reporter';
import { RefusedError } from '../../errors';
import { rollback } from '../../rollback/rollback';
import { MigrationSession } from '../../session/MigrationSession';
import { swap } from './70_swap';

const databases = createTestDatabases();

describe.each(databases.eachSupportedId())(
  'what is added to the tables after their copies on %s',
  id => {
    const create = catalogTemplate(databases, id, {
      entities: 20,
      phase: 4,
      prepare: prepared => stopBefore(prepared, 5, swap),
    });
    let database: CatalogDatabase;
    const query = async (sql: string) =>
      (await database.client.query(sql)).rows;
    beforeEach(async () => {
      database = await create();
      await query(`create table kinds (type text primary key);
                   insert into kinds values ('ownedBy'), ('dependsOn')`);
    });
    afterEach(async () => {
      jest.restoreAllMocks();
      await database.close();
    });

    const runPhase5 = () =>
      database.migrate(migration => migration.runPhase(5));
    const refusal = async () => {
      const error = await runPhase5().catch(reason => reason);
      expect(error).toBeInstanceOf(RefusedError);
      const [finding, ...sql] = String(error.message).split('\n');
      return { finding, sql: sql.join('\n') };
    };
    const isSwapped = async () => {
      const [{ relkind }] = await query(
        `select relkind from pg_class where oid = 'relations'::regclass`,
      );
      return relkind === 'p';
    };
    const definitions = async () =>
      (
        await query(
          `select substring(pg_get_indexdef(indexrelid) from 'USING.*') as definition
             from pg_index where indrelid = 'relations'::regclass
            union all
           select pg_get_constraintdef(oid) from pg_constraint
            where conrelid = 'relations'::regclass`,
        )
      ).map(({ definition }) => definition);

    const ADDITIONS = [
      [
        'an index',
        'create index late on relations (target_entity_ref)',
        /the index late of relations/,
        'USING btree (tenant_id, target_entity_ref)',
      ],
      [
        'a unique constraint',
        `alter table relations add constraint late
           unique (originating_entity_id, type, target_entity_ref)`,
        /the index late of relations/,
        'UNIQUE (tenant_id, originating_entity_id, type, target_entity_ref)',
      ],
      [
        'a check constraint',
        'alter table relations add constraint late check (weight < 1000)',
        /the constraint late of relations/,
        'CHECK ((weight < (1000)::numeric))',
      ],
      [
        'a foreign key',
        'alter table relations add constraint late foreign key (type) references kinds',
        /the foreign key late of relations/,
        'FOREIGN KEY (type) REFERENCES kinds(type)',
      ],
    ] as const;

    it.each(ADDITIONS)(
      'is not lost: %s',
      async (_, statement, message, definition) => {
        await query(statement);
        const { finding, sql } = await refusal();
        expect(finding).toMatch(message);
        expect(finding).toMatch(/Run this, and the command again/);
        await expect(isSwapped()).resolves.toBe(false);

        await query(sql);
        await runPhase5();
        await expect(isSwapped()).resolves.toBe(true);
        await expect(definitions()).resolves.toContain(definition);
      },
    );

    it('is not lost between a rollback and going forward again', async () => {
      await runPhase5();
      await database.migrate(migration => rollback(migration));
      await query('create index late on relations (target_entity_ref)');
      const { finding, sql } = await refusal();
      expect(finding).toMatch(/the index late of relations/);
      await query(sql);
      await runPhase5();
      await expect(definitions()).resolves.toContain(
        'USING btree (tenant_id, target_entity_ref)',
      );
    });

    it('is noticed in the very moment before the swap', async () => {
      const original = MigrationSession.prototype.query;
      let added = false;
      jest
        .spyOn(MigrationSession.prototype, 'query')
        .mockImplementation(async function addFirst(
          this: MigrationSession,
          ...args: Parameters<typeof original>
        ) {
          if (!added && args[0].includes('rename to relations_old')) {
            added = true;
            await query('create index late on relations (target_entity_ref)');
          }
          return original.apply(this, args) as any;
        });
      await expect(runPhase5()).rejects.toThrow(
        /was added or changed a moment ago\. Run the command again/,
      );
      expect(added).toBe(true);
      await expect(isSwapped()).resolves.toBe(false);
      expect((await refusal()).finding).toMatch(/the index late of relations/);
    });

    it('is told of by a rollback, which is not held up by it', async () => {
      await runPhase5();
      await query(`create index late on relations (target_entity_ref);
                   alter table entities add constraint short check (length(hash) < 99)`);
      const warnings: string[] = [];
      await database.migrate(migration => rollback(migration), {
        reporter: {
          ...silentReporter,
          warn: message => warnings.push(message),
        },
      });
      await expect(isSwapped()).resolves.toBe(false);
      expect(warnings).toEqual([
        'These were added to the tables after the swap, and stay with the archive: ' +
          'the constraint short of entities; the index late of relations.',
      ]);
    });
  },
);
