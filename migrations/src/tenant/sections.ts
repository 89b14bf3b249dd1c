import type { Executor } from '../engine/Executor';
import { ADOPTION_STATE } from '../adopt/state';
import { OWN_TABLES } from '../ownTables';
import {
  ENGINE_STATUS_TABLE,
  LEASES_TABLE,
  RETIRED_TABLE,
  SEARCH_TABLES,
} from '../schema/tables';
import type { MigrationSession } from '../session/MigrationSession';
import { escapeIdentifier, escapeLiteral } from '../sql';
import { engineSchemaOf } from '../adopt/engine';
import type { Section } from './archive';

/** A section in one database, and where its rows stand there. */
export interface FoundSection extends Omit<Section, 'rows'> {
  schema: string;
}

/** Tables of this product that are made anew: what processes do, and what triggers derive. */
const NOT_EXPORTED: readonly string[] = [
  ADOPTION_STATE,
  ENGINE_STATUS_TABLE,
  LEASES_TABLE,
  RETIRED_TABLE,
  'tenant_share_copies',
  SEARCH_TABLES[0],
];

/** Those of the product, referenced before referencing: the registry, and then the entities. */
const REGISTRY = OWN_TABLES.filter(
  ({ name, kind }) => kind !== 'side' && !NOT_EXPORTED.includes(name),
)
  .map(({ name }) => name)
  .sort((one, other) => orderOf(one) - orderOf(other));

function orderOf(table: string): number {
  return ['tenants', 'entities'].indexOf(table) + 1 || 3;
}

/** Tables of the mockup plugin, without what a trigger keeps and who has an editor open. */
const MOCKUPS = [
  'mockups',
  'mockup_versions',
  'mockup_pages',
  'mockup_comments',
  'mockup_ready_versions',
  'mockup_settings',
  'mockup_trash',
  'mockup_trash_versions',
];

/**
 * Where upstream's migrator keeps what has run, Backstage's scheduler its tasks, and an engine what
 * it reads at the moment.
 */
const BOOKKEEPING = '^(knex_migrations|backstage_backend_tasks__|tenancy_)';

/** Whether an import knows such a section. Each schema of a tenant may have tables of any name. */
export function isKnown(
  { part, table }: Pick<Section, 'part' | 'table'>,
  registry: FoundSection[],
): boolean {
  switch (part) {
    case 'registry':
      return registry.some(each => each.table === table);
    case 'mockups':
      return MOCKUPS.includes(table);
    default:
      return /^(engine|plugin [A-Za-z][A-Za-z0-9-]*)$/.test(part);
  }
}

/** The sections of the product's own tables. */
export async function registrySections(
  executor: Pick<Executor, 'read'>,
  schema: string,
): Promise<FoundSection[]> {
  return sectionsOf(executor, 'registry', schema, REGISTRY);
}

/** Those of a database with the mockup plugin's tables; none in another one. */
export async function mockupSections(
  executor: Pick<Executor, 'read'>,
): Promise<FoundSection[]> {
  const schemas = await executor.read<{ schema: string }>(
    `select n.nspname as schema from pg_class c
       join pg_namespace n on n.oid = c.relnamespace
       join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id'
      where c.relname = 'mockups' and c.relkind = 'r' and n.nspname !~ '^tenant_[0-9a-f]{32}'`,
  );
  const found: FoundSection[] = [];
  for (const { schema } of schemas) {
    found.push(...(await sectionsOf(executor, 'mockups', schema, MOCKUPS)));
  }
  return found;
}

/** Those of the tenant's engine and instances that are in a database. */
export async function schemaSections(
  executor: Executor,
  tenantId: string,
): Promise<FoundSection[]> {
  const found: FoundSection[] = [];
  for (const schema of await schemasOf(executor, tenantId)) {
    found.push(
      ...(await sectionsOf(
        executor,
        partOf(schema, tenantId),
        schema,
        await tablesInOrder(
          {
            query: <Row>(sql: string, values?: unknown[]) =>
              executor.read<Row>(sql, values),
          },
          schema,
        ),
      )),
    );
  }
  return found;
}

/** The schemas of a tenant's engine and instances in a database. */
export async function schemasOf(
  executor: Pick<Executor, 'read'>,
  tenantId: string,
): Promise<string[]> {
  const schemas = await executor.read<{ name: string }>(
    'select nspname as name from pg_namespace where nspname ~ $1 order by 1',
    [`^${engineSchemaOf(tenantId)}(_|$)`],
  );
  return schemas.map(({ name }) => name);
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

async function sectionsOf(
  executor: Pick<Executor, 'read'>,
  part: string,
  schema: string,
  tables: readonly string[],
): Promise<FoundSection[]> {
  const rows = await executor.read<{ table: string; columns: string[] }>(
    `select c.relname as table, array_agg(a.attname::text order by a.attname collate "C") as columns
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
      .map(({ columns }) => ({ part, schema, table, columns })),
  );
}

/** Whether a part has a schema of its own, and not rows in tables of all tenants. */
export function isOwnSchema(part: string): boolean {
  return part !== 'registry' && part !== 'mockups';
}

/** The tables of a schema, each after those that it refers to. */
export async function tablesInOrder(
  session: Pick<MigrationSession, 'query'>,
  schema: string,
): Promise<string[]> {
  const tables = await session.query<{ name: string; refers: string[] }>(
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

/** The query for the rows of a section, as `row`: JSON on one line. */
export function selectRows(
  section: FoundSection,
  tenantId: string,
  condition?: string,
): string {
  return `select to_jsonb(r)::text as row from ${rowsOf(
    section,
    tenantId,
    condition,
  )}`;
}

/** Which rows of the tables of a part are the tenant's, as SQL. */
export function ofTenant(part: string, tenantId: string): string {
  return isOwnSchema(part) ? 'true' : `tenant_id = ${escapeLiteral(tenantId)}`;
}
