import { createTestDatabases } from '@internal/postgres/testUtils';
import { forEachTest } from '../__testUtils__/forEachTest';
import { createCatalogDatabase } from '../__testUtils__/catalogDatabase';
import { findings, preflight } from './__testUtils__/preflight';

const databases = createTestDatabases();

describe.each(databases.eachSupportedId())('rows on %s', id => {
  const database = forEachTest(() =>
    createCatalogDatabase(databases, id, { entities: 20 }),
  );

  it('without their entity are refused, and deleted as it says', async () => {
    await database.client.query(
      `set session_replication_role = replica;
       delete from entities where entity_name <= 'service-12';
       reset session_replication_role`,
    );
    const found = findings(await preflight(database), 'failure');
    expect(found).toEqual([
      expect.objectContaining({
        check: 'rows',
        message: expect.stringMatching(
          /^The entity of rows of relations is missing: /,
        ),
        details: Array(4).fill(expect.stringMatching(/^[0-9a-f-]{36}$/)),
      }),
      expect.objectContaining({
        message: expect.stringMatching(/^The entity of rows of refresh_state /),
      }),
    ]);
    for (const { sql } of found) {
      await database.client.query(sql!);
    }
    expect(findings(await preflight(database), 'failure')).toEqual([]);
    const { rows } = await database.client.query(
      'select count(*)::int as left from refresh_state',
    );
    expect(rows).toEqual([{ left: 16 }]);
  });

  it('that break the rule of references are put right where that can be', async () => {
    await database.client.query(
      `update entities set entity_kind = 'Component', entity_namespace = ''
        where entity_name = 'service-1';
       update entities set entity_ref = 'user:a/b/c:d' where entity_name = 'service-2';
       update entities set entity_ref = 'no reference' where entity_name = 'service-3'`,
    );
    const [broken] = findings(await preflight(database), 'failure');
    expect(broken).toMatchObject({
      check: 'rows',
      message: expect.stringMatching(
        /^Rows of entities have an entity_ref that .*: component:default\/service-1 \(of Component:\/service-1\), /,
      ),
    });
    const [update, list] = broken.sql!.split(';\n');
    await database.client.query(update);
    const { rows } = await database.client.query(list);
    expect(rows).toEqual([
      expect.objectContaining({ entity_ref: 'no reference' }),
    ]);
    const mended = await database.client.query(
      `select entity_kind as kind, entity_namespace as namespace, entity_name as name
         from entities where entity_ref like 'user:%'`,
    );
    expect(mended.rows).toEqual([
      { kind: 'user', namespace: 'a', name: 'b/c:d' },
    ]);
    const [left] = findings(await preflight(database), 'failure');
    expect(left.message).toMatch(/: no reference \(of [^,]*$/);
  });

  it('without a required value are refused', async () => {
    await database.client.query(
      `alter table entities alter hash drop not null;
       update entities set hash = null where deleted_at is not null`,
    );
    expect(findings(await preflight(database), 'failure')).toEqual([
      expect.objectContaining({
        check: 'rows',
        message: expect.stringMatching(
          /^Rows of entities lack a required value: [0-9a-f-]{36} \(hash\)\.$/,
        ),
      }),
    ]);
  });
});
