import { createTestDatabases } from '@internal/postgres/testUtils';
import { forEachTest } from '../../__testUtils__/forEachTest';
import { createCatalogDatabase } from '../../__testUtils__/catalogDatabase';
import { stopBefore } from '../../__testUtils__/stopBefore';
import { EXIT_CODES } from '../../errors';
import { verify } from '../../verify/verify';
import { swap } from './70_swap';

const databases = createTestDatabases();

describe.each(databases.eachSupportedId())('a broken copy on %s', id => {
  const database = forEachTest(() =>
    createCatalogDatabase(databases, id, {
      phase: 4,
      prepare: async prepared => {
        await stopBefore(prepared, 5, swap);
      },
    }),
  );

  const breakages: [what: string, sql: string, message: RegExp][] = [
    [
      'a row is missing from it',
      `delete from refresh_state_partitioned where location_key = 'url:service-7'`,
      /refresh_state_partitioned differs from refresh_state: 200 rows in refresh_state, 199 in refresh_state_partitioned\. It differs for entity_id [0-9a-f-]{36} \(1 row in refresh_state, 0 in/,
    ],
    [
      'a JSON value in it is another one',
      `update entities_partitioned
          set final_entity = jsonb_set(final_entity, '{metadata,n}', '7000')
        where entity_name = 'service-7'`,
      /entities_partitioned differs from entities: 200 rows in entities, 200 in entities_partitioned\. It differs for entity_id [0-9a-f-]{36} \(1 row in entities, 1 in/,
    ],
    [
      'a row is there twice',
      `insert into relations_partitioned
       select * from relations_partitioned where source_entity_ref like '%-7' limit 1`,
      /relations_partitioned differs from relations: 400 rows in relations, 401 in relations_partitioned\. It differs for originating_entity_id [0-9a-f-]{36} \(2 rows in relations, 3 in/,
    ],
    [
      'an entity is in it that is nowhere else',
      `insert into entities_partitioned
         (tenant_id, entity_ref, entity_kind, entity_name, final_entity, hash)
       values ('00000000-0000-0000-0000-000000000001', 'api:default/x', 'api', 'x', '{}', '')`,
      /entities_partitioned differs from entities: 200 rows in entities, 201 in/,
    ],
  ];

  it.each(breakages)(
    'is not swapped, and verify says so, when %s',
    async (_, sql, message) => {
      await database.client.query(sql);

      const { checks } = await database.migrate(verify, { mode: 'read' });
      expect(checks.flatMap(check => check.problems).join('\n')).toMatch(
        message,
      );
      await expect(
        database.migrate(migration => migration.runPhase(5)),
      ).rejects.toMatchObject({
        exitCode: EXIT_CODES.verificationFailed,
        message: expect.stringMatching(message),
      });

      const { rows } = await database.client.query(
        `select relkind from pg_class where oid = 'entities'::regclass`,
      );
      expect(rows).toEqual([{ relkind: 'r' }]);
    },
  );

  it('is compared without the changes that wait to be replayed', async () => {
    await database.client.query(
      `update entities set hash = 'changed' where entity_name < 'service-4'`,
    );
    const { checks } = await database.migrate(verify, { mode: 'read' });
    expect(checks.flatMap(check => check.problems)).toEqual([]);
  });
});
