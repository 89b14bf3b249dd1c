import { createTestDatabases } from '@internal/postgres/testUtils';
import { forAllTests } from '../../__testUtils__/forEachTest';
import { createCatalogDatabase } from '../../__testUtils__/catalogDatabase';

const databases = createTestDatabases();

describe.each(databases.eachSupportedId())('after phase 5 on %s', id => {
  const database = forAllTests(() =>
    createCatalogDatabase(databases, id, { phase: 5 }),
  );

  async function rows(sql: string): Promise<unknown[][]> {
    const result = await database.client.query({ text: sql, rowMode: 'array' });
    return result.rows;
  }

  /** In an order that no collation of the server has a say in. */
  const sorted = (list: unknown[][]) =>
    list.map(row => JSON.stringify(row)).sort();

  const columnsOf = (table: string) =>
    rows(`select attname, format_type(atttypid, atttypmod), attnotnull,
                 case when attgenerated = '' then pg_get_expr(adbin, adrelid) end
            from pg_attribute
            left join pg_attrdef on adrelid = attrelid and adnum = attnum
           where attrelid = '${table}'::regclass and attnum > 0
             and not attisdropped order by attnum`);

  it('entities has the columns of the specification', async () => {
    const now = 'now()';
    await expect(columnsOf('entities')).resolves.toEqual([
      ['entity_id', 'uuid', true, 'gen_random_uuid()'],
      ['entity_ref', 'text', true, null],
      ['entity_kind', 'text', true, null],
      ['entity_namespace', 'text', true, `'default'::text`],
      ['entity_name', 'text', true, null],
      ['final_entity', 'jsonb', true, null],
      ['hash', 'text', true, null],
      ['stitch_ticket', 'text', false, null],
      ['created_at', 'timestamp with time zone', true, now],
      ['updated_at', 'timestamp with time zone', true, now],
      ['deleted_at', 'timestamp with time zone', false, null],
      ['tenant_id', 'uuid', true, null],
    ]);
  });

  it('relations and refresh_state have a tenant besides their own columns', async () => {
    await expect(columnsOf('relations')).resolves.toEqual([
      ['originating_entity_id', 'uuid', true, null],
      ['source_entity_ref', 'text', true, null],
      ['type', 'text', true, null],
      ['target_entity_ref', 'text', true, null],
      ['weight', 'numeric(6,2)', false, '1'],
      ['noted_at', 'timestamp with time zone', true, 'now()'],
      ['tenant_id', 'uuid', true, null],
    ]);
    await expect(columnsOf('refresh_state')).resolves.toEqual([
      ['entity_id', 'uuid', true, null],
      ['location_key', 'text', false, null],
      ['next_update_at', 'timestamp with time zone', true, 'now()'],
      ['errors', 'jsonb', false, null],
      ['attempts', 'integer', true, '0'],
      ['tenant_id', 'uuid', true, null],
    ]);
  });

  it('every table has its constraints, all of them valid', async () => {
    const cascade = 'ON DELETE CASCADE';
    const tenant = `FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id) ${cascade}`;
    const found =
      await rows(`select conrelid::regclass::text, pg_get_constraintdef(oid)
              from pg_constraint
             where conrelid::regclass::text in ('entities', 'relations', 'refresh_state')
               and conparentid = 0 and contype <> 'n' and convalidated`);
    expect(sorted(found)).toEqual(
      sorted([
        [
          'entities',
          "CHECK ((entity_ref = ((((entity_kind || ':'::text) || entity_namespace) || '/'::text) || entity_name)))",
        ],
        ['entities', tenant],
        ['entities', 'PRIMARY KEY (tenant_id, entity_id)'],
        ['entities', 'UNIQUE (tenant_id, entity_ref)'],
        [
          'refresh_state',
          `FOREIGN KEY (tenant_id, entity_id) REFERENCES entities(tenant_id, entity_id) ${cascade}`,
        ],
        ['refresh_state', tenant],
        ['refresh_state', 'PRIMARY KEY (tenant_id, entity_id)'],
        [
          'relations',
          `FOREIGN KEY (tenant_id, originating_entity_id) REFERENCES entities(tenant_id, entity_id) ${cascade}`,
        ],
        ['relations', tenant],
      ]),
    );
  });

  it('every table has its indexes, those that it had led by the tenant', async () => {
    const live = 'WHERE (deleted_at IS NULL)';
    const found = await rows(`select c.relname, i.indisunique,
                   substring(replace(pg_get_indexdef(i.indexrelid), 'public.', '') from 'USING .*')
              from pg_index i join pg_class c on c.oid = i.indrelid
             where c.relname in ('entities', 'relations', 'refresh_state')
               and i.indisvalid`);
    expect(sorted(found)).toEqual(
      sorted([
        ['entities', true, 'USING btree (tenant_id, entity_id)'],
        [
          'entities',
          false,
          `USING btree (tenant_id, entity_kind, created_at DESC) ${live}`,
        ],
        ['entities', true, 'USING btree (tenant_id, entity_ref)'],
        ['entities', false, `USING btree (tenant_id, entity_ref) ${live}`],
        [
          'entities',
          false,
          `USING gin (entity_name gin_trgm_ops) WITH (fastupdate='on', gin_pending_list_limit='64') ${live}`,
        ],
        [
          'entities',
          false,
          `USING gin (final_entity jsonb_path_ops) WITH (fastupdate='on', gin_pending_list_limit='64')`,
        ],
        ['refresh_state', true, 'USING btree (tenant_id, entity_id)'],
        ['relations', false, 'USING btree (tenant_id, originating_entity_id)'],
        ['relations', false, 'USING btree (tenant_id, source_entity_ref)'],
      ]),
    );
  });

  it('the grants have followed', async () => {
    await expect(
      rows(`select has_table_privilege('catalog_report', 'relations', 'select'),
                   has_column_privilege('catalog_report', 'refresh_state', 'location_key', 'select'),
                   has_column_privilege('catalog_report', 'refresh_state', 'errors', 'select')`),
    ).resolves.toEqual([[true, true, false]]);
  });
});
