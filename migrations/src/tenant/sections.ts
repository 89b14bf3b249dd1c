import { engineSchemaOf, findTenantSchemas } from '../adopt/engine';
import type { Executor } from '../engine/Executor';
import { escapeIdentifier, escapeLiteral } from '../sql';
import type { Section } from './archive';
import { BOOKKEEPING, MOCKUPS, REGISTRY } from './description';

type Reader = Pick<Executor, 'read'>;

/** A section in one database, and where its rows stand there. */
export interface FoundSection extends Omit<Section, 'rows'> {
  schema: string;
  /** The columns of type json or jsonb. */
  json: { name: string; isNullable: boolean }[];
}

/** Whether an import knows such a section. Each schema of a tenant may have tables of any name. */
export function isKnown(
  { part, table }: Pick<Section, 'part' | 'table'>,
  registry: FoundSection[],
): boolean {
  switch (part) {
    case 'registry':
      return registry.some(each => each.table === table);
    case 'mockups':
      return namesOf(MOCKUPS).includes(table);
    default:
      return /^(engine|plugin [A-Za-z][A-Za-z0-9-]*)$/.test(part);
  }
}

function namesOf(tables: typeof REGISTRY, withDerived = false): string[] {
  return tables
    .filter(({ isDerived }) => withDerived || !isDerived)
    .map(({ name }) => name);
}

/**
 * The sections of the product's own tables, referenced before referencing.
 *
 * @param withDerived - also those that no export has
 */
export async function registrySections(
  reader: Reader,
  schema: string,
  withDerived?: boolean,
): Promise<FoundSection[]> {
  const names = namesOf(REGISTRY, withDerived);
  return sectionsOf(reader, 'registry', schema, names);
}

/** The same of the mockup plugin's tables; none in a database without them. */
export async function mockupSections(
  reader: Reader,
  withDerived?: boolean,
): Promise<FoundSection[]> {
  const names = namesOf(MOCKUPS, withDerived);
  const found: FoundSection[] = [];
  for (const schema of await sharedSchemas(reader, 'mockups', 'tenant_id')) {
    found.push(...(await sectionsOf(reader, 'mockups', schema, names)));
  }
  return found;
}

/** The schemas with a table of a plugin, but for those of single tenants. */
export async function sharedSchemas(
  reader: Reader,
  table: string,
  column: string,
): Promise<string[]> {
  const rows = await reader.read<{ schema: string }>(
    `select n.nspname as schema from pg_class c
       join pg_namespace n on n.oid = c.relnamespace
       join pg_attribute a on a.attrelid = c.oid and a.attname = $2
      where c.relname = $1 and c.relkind = 'r' and n.nspname !~ '^(pg_|tenant_[0-9a-f]{32})'
      order by 1`,
    [table, column],
  );
  return rows.map(({ schema }) => schema);
}

/** Those of the tenant's engine and instances that are in a database. */
export async function schemaSections(
  reader: Reader,
  tenantId: string,
): Promise<FoundSection[]> {
  const found: FoundSection[] = [];
  for (const schema of await findTenantSchemas(reader, tenantId)) {
    const part = partOf(schema, tenantId);
    const tables = await tablesInOrder(reader, schema);
    found.push(...(await sectionsOf(reader, part, schema, tables)));
  }
  return found;
}

/** The part of a tenant that a schema has. */
export function partOf(schema: string, tenantId: string): string {
  const engine = engineSchemaOf(tenantId);
  return schema === engine
    ? 'engine'
    : `plugin ${schema.slice(engine.length + 1)}`;
}

/** The schema of a part of a tenant. */
export function schemaOfPart(part: string, tenantId: string): string {
  const engine = engineSchemaOf(tenantId);
  return part === 'engine'
    ? engine
    : `${engine}_${part.replace('plugin ', '')}`;
}

/** Those of the tables that are there, with all columns but generated ones. */
export async function sectionsOf(
  reader: Reader,
  part: string,
  schema: string,
  tables: readonly string[],
): Promise<FoundSection[]> {
  const rows = await reader.read<
    Pick<FoundSection, 'table' | 'columns' | 'json'>
  >(
    `select c.relname as table, array_agg(a.attname::text order by a.attname collate "C") as columns,
            coalesce(jsonb_agg(jsonb_build_object('name', a.attname, 'isNullable', not a.attnotnull))
                       filter (where a.atttypid in ('json'::regtype, 'jsonb'::regtype)), '[]') as json
       from pg_class c
       join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
        and not a.attisdropped and a.attgenerated = ''
      where c.relnamespace = (select oid from pg_namespace where nspname = $1)
        and c.relname = any ($2) and c.relkind in ('r', 'p')
      group by 1`,
    [schema, tables],
  );
  return tables.flatMap(table =>
    rows
      .filter(each => each.table === table)
      .filter(
        ({ columns }) => isOwnSchema(part) || columns.includes('tenant_id'),
      )
      .map(each => ({ ...each, part, schema })),
  );
}

/** Whether a part has a schema of its own, and not rows in tables of all tenants. */
export function isOwnSchema(part: string): boolean {
  return part !== 'registry' && part !== 'mockups';
}

/** The tables of a schema, each after those that it refers to. */
export async function tablesInOrder(
  reader: Reader,
  schema: string,
): Promise<string[]> {
  const tables = await reader.read<{ name: string; refers: string[] }>(
    `select c.relname as name,
            coalesce(array_agg(f.relname::text) filter (where f.oid <> c.oid), '{}') as refers
       from pg_class c
       left join pg_constraint k on k.conrelid = c.oid and k.contype = 'f'
       left join pg_class f on f.oid = k.confrelid
      where c.relnamespace = (select oid from pg_namespace where nspname = $1)
        and c.relkind in ('r', 'p') and not c.relispartition and c.relname !~ $2
      group by 1 order by 1`,
    [schema, BOOKKEEPING],
  );
  const ordered: string[] = [];
  for (let left = tables; left.length > 0; ) {
    const ready = left.filter(({ refers }) =>
      refers.every(each => ordered.includes(each)),
    );
    // Those that refer to each other have deferrable keys, or can't be filled by anyone.
    ordered.push(...(ready.length > 0 ? ready : left).map(({ name }) => name));
    left = left.filter(({ name }) => !ordered.includes(name));
  }
  return ordered;
}

/** As SQL names the table. */
export function nameOf({
  schema,
  table,
}: Pick<FoundSection, 'schema' | 'table'>): string {
  return `${escapeIdentifier(schema)}.${escapeIdentifier(table)}`;
}

/** The rows of a section for FROM, as `r`. */
export function rowsOf(
  section: FoundSection,
  tenantId: string,
  condition = 'true',
): string {
  return `(
  select ${section.columns.map(escapeIdentifier).join(', ')}
    from ${nameOf(section)}
   where ${ofTenant(section.part, tenantId)} and ${condition}) r`;
}

/**
 * `r` of {@link rowsOf} as a JSON object. It lacks a column that may be NULL and is a JSON null,
 * since `null` stands for NULL there.
 */
export function rowAsJson({ json }: FoundSection): string {
  const missing = json
    .filter(({ isNullable }) => isNullable)
    .map(({ name }) => {
      const column = `r.${escapeIdentifier(name)}`;
      return `case when ${column}::jsonb = 'null' then ${escapeLiteral(
        name,
      )} end`;
    });
  return missing.length > 0
    ? `to_jsonb(r) - array[${missing.join(', ')}]::text[]`
    : 'to_jsonb(r)';
}

/** The values of columns for INSERT, of `row` as {@link rowAsJson} has made it. */
export function valuesOf({ schema, table, columns, json }: FoundSection): {
  values: string;
  from: string;
} {
  const values = columns.map(name => {
    const value = `r.${escapeIdentifier(name)}`;
    const found = json.find(each => each.name === name);
    if (!found) {
      return value;
    }
    return found.isNullable
      ? `case when row ? ${escapeLiteral(name)} then ${value} else 'null' end`
      : `coalesce(${value}, 'null')`;
  });
  return {
    values: values.join(', '),
    from: `jsonb_populate_record(null::${nameOf({ schema, table })}, row) r`,
  };
}

/** The query for the rows of a section, as `row`: JSON on one line. */
export function selectRows(
  section: FoundSection,
  tenantId: string,
  condition?: string,
): string {
  return `select (${rowAsJson(section)})::text as row from ${rowsOf(
    section,
    tenantId,
    condition,
  )}`;
}

/** Which rows of the tables of a part are the tenant's, as SQL. */
export function ofTenant(part: string, tenantId: string): string {
  return isOwnSchema(part) ? 'true' : `tenant_id = ${escapeLiteral(tenantId)}`;
}
