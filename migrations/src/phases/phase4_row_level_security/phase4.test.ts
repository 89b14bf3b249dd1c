import { createTestDatabases } from '@internal/postgres/testUtils';
import { createCatalogDatabase } from '../../__testUtils__/catalogDatabase';
import type { CatalogDatabase } from '../../__testUtils__/catalogDatabase';
import { catalogSnapshot } from '../../__testUtils__/catalogSnapshot';
import { runPhases } from '../../__testUtils__/runPhases';
import { TENANT_TABLES } from '../../schema/tables';

const databases = createTestDatabases();

/** Whether an index is named after one of the tables, as all of ours are. */
function onTable(index: string, tables: string[]): boolean {
  return tables.some(table => index.startsWith(`${table}_`));
}

describe.each(databases.eachSupportedId())('phase 4 on %s', id => {
  const opened: CatalogDatabase[] = [];
  const create = async () => {
    const database = await createCatalogDatabase(databases, id);
    opened.push(database);
    return database;
  };
  afterEach(async () => {
    await Promise.all(opened.splice(0).map(database => database.close()));
  });

  it('puts policies, owners, defaults and grants in place, and nothing else', async () => {
    const database = await create();
    const user = database.connection.user as string;
    await runPhases(database, 3);
    const before = await catalogSnapshot(database.client);
    await runPhases(database, 4);
    const after = await catalogSnapshot(database.client);

    // pg_get_expr writes the condition in PostgreSQL's words.
    const condition = (table: string) =>
      `(tenant_id = (COALESCE(NULLIF(current_setting('app.tenant_id'::text, true), ''::text), ` +
      `(tenant_required('${table}'::text))::text))::uuid)`;
    expect(after.policies).toEqual(
      ['entities', 'refresh_state', 'relations'].map(table => ({
        table,
        name: 'tenant_isolation',
        permissive: 'PERMISSIVE',
        roles: ['public'],
        cmd: 'ALL',
        qual: condition(table),
        with_check: condition(table),
      })),
    );

    const tables: string[] = [...TENANT_TABLES];
    const handedOver = [...tables, 'tenants'];
    const asBefore = (privileges_: string[]) =>
      privileges_.map(each =>
        each
          .replace(`${user}=`, 'portal_admin=')
          .replace(`by ${user}`, 'by portal_admin'),
      );
    const formerOwner = ['DELETE', 'INSERT', 'SELECT', 'UPDATE'].map(
      privilege => `${user}=${privilege} by portal_admin`,
    );
    expect(after.relations).toEqual(
      before.relations.map(relation => {
        const name = relation.name as string;
        const granted = relation.privileges as string[];
        const index = relation.kind === 'i';
        if (!(index ? onTable(name, handedOver) : handedOver.includes(name))) {
          return relation;
        }
        return {
          ...relation,
          owner: 'portal_admin',
          rowSecurity: tables.includes(name),
          forced: tables.includes(name),
          privileges: index
            ? null
            : [...asBefore(granted), ...formerOwner].sort(),
        };
      }),
    );

    expect(after.columns).toEqual(
      before.columns.map(({ privileges: granted, ...column }) => ({
        ...column,
        privileges:
          (granted as string | null)?.replace(`/${user}`, '/portal_admin') ??
          null,
        default:
          column.column === 'tenant_id' &&
          tables.includes(column.table as string)
            ? null
            : column.default,
      })),
    );
    expect(before.functions).toEqual([]);
    expect(after.functions).toEqual([
      expect.objectContaining({
        definition: expect.stringContaining('tenant_required'),
        owner: 'portal_admin',
      }),
    ]);
    expect(after.schema).toEqual([
      {
        ...before.schema[0],
        privileges: [
          ...(before.schema[0].privileges as string[]),
          `portal_admin=CREATE by ${user}`,
          `portal_admin=USAGE by ${user}`,
        ].sort(),
      },
    ]);
    for (const same of ['constraints', 'indexes', 'triggers']) {
      expect(after[same]).toEqual(before[same]);
    }
  });
});
