import type { Executor } from '../engine/Executor';
import type { StepContext } from '../engine/Step';
import { RefusedError } from '../errors';
import { operatorCommand } from '../operatorCommand';
import { columnExists } from '../schema/lookups';
import { DEFAULT_TENANT_ID } from '../schema/tables';
import { escapeIdentifier, escapeLiteral } from '../sql';

/** The tables of the stock catalog's engine that we carry. */
export const ENGINE_TABLES = [
  'relations',
  'refresh_state',
  'refresh_state_references',
  'final_entities',
] as const;

export type EngineTable = (typeof ENGINE_TABLES)[number];

/** The tenant that gets the entities; the default one where there is no id. */
export interface AdoptedTenant {
  tenantId?: string;
  /** For messages. */
  slug?: string;
}

/** An engine of a stock catalog, and whose entities it has. */
export interface Engine {
  /** Where its tables stand. */
  schema: string;
  tenantId: string;
  /** Of the tenant, for messages; without one where the tenant was deleted for good. */
  slug?: string | null;
}

/** The tenant of an engine, in words. */
export function describeTenant({ tenantId, slug }: Engine): string {
  return tenantId === DEFAULT_TENANT_ID
    ? 'the default tenant'
    : `the tenant "${slug ?? tenantId}"`;
}

/** An engine, in words. */
export function describeEngine({ tenantId, schema }: Engine): string {
  return tenantId === DEFAULT_TENANT_ID
    ? 'the stock catalog'
    : `its engine in the schema "${schema}"`;
}

/** The command that adopts what an engine has, or undoes that. */
export function adoptCommand(
  { tenantId, slug }: Engine,
  command: 'adopt' | 'unadopt' = 'adopt',
): string {
  return operatorCommand(
    command,
    tenantId === DEFAULT_TENANT_ID ? '' : `--tenant ${slug ?? tenantId}`,
  );
}

export const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** In lower case, as PostgreSQL writes it. */
export function parseTenantId(tenantId: string): string {
  if (typeof tenantId !== 'string' || !UUID.test(tenantId)) {
    throw new TypeError(
      `The tenant id ${JSON.stringify(
        tenantId,
      )} is not a UUID. Expected one such as "${DEFAULT_TENANT_ID}".`,
    );
  }
  return tenantId.toLowerCase();
}

/**
 * The schema with the tables of the engine of a tenant: `tenant_` and the id without its
 * dashes. The engine of the default tenant is the stock catalog, wherever its tables stand.
 *
 * @throws `TypeError` if that is no UUID
 * @public
 */
export function engineSchemaOf(tenantId: string): string {
  return `tenant_${parseTenantId(tenantId).replaceAll('-', '')}`;
}

/** The schemas of a tenant's engine, and of its instances of plugins, in a database. */
export async function findTenantSchemas(
  { read }: Pick<Executor, 'read'>,
  tenantId: string,
): Promise<string[]> {
  const schemas = await read<{ name: string }>(
    'select nspname as name from pg_namespace where nspname ~ $1 order by 1',
    [`^${engineSchemaOf(tenantId)}(_|$)`],
  );
  return schemas.map(({ name }) => name);
}

/**
 * What {@link engineSchemaOf} returns, and the template that earlier versions copied:
 * engines of other tenants than the default one.
 */
const OTHER_TENANTS = '^tenant_([0-9a-f]{32}|template)$';

/** The columns that we read, by which we recognise the tables. */
const COLUMNS: Record<EngineTable, readonly string[]> = {
  final_entities: [
    'entity_id',
    'entity_ref',
    'final_entity',
    'hash',
    'last_updated_at',
  ],
  relations: [
    'originating_entity_id',
    'source_entity_ref',
    'type',
    'target_entity_ref',
  ],
  refresh_state: ['entity_id', 'unprocessed_entity', 'location_key', 'errors'],
  refresh_state_references: ['id', 'source_entity_ref', 'target_entity_ref'],
};

/** The first arguments of the functions that work on the tables of an engine, as SQL. */
export function engineArguments({ schema, tenantId }: Engine): string {
  return `${escapeLiteral(tenantId)}, ${escapeLiteral(schema)}`;
}

/** The name of a table of the engine, as SQL. */
export function engineTable({ schema }: Engine, table: EngineTable): string {
  return `${escapeIdentifier(schema)}.${table}`;
}

/** @throws {@link RefusedError} where there are no tenants yet, or in another schema */
export async function requireRegistry({
  executor,
  settings,
}: Pick<StepContext, 'executor' | 'settings'>): Promise<void> {
  if (!(await columnExists(executor, 'tenants', 'tenant_slug'))) {
    const [{ database }] = await executor.read<{ database: string }>(
      'select current_database() as database',
    );
    throw new RefusedError(
      `The database "${database}" has no tenants in the schema "${settings.schema}". ` +
        `Run "${operatorCommand('status')}" on it, or give another --schema.`,
    );
  }
}

/** A tenant of the registry. */
export interface RegisteredTenant {
  tenantId: string;
  slug: string;
  isDeleted: boolean;
}

/**
 * The tenant by that slug or id, deleted or not.
 *
 * @throws {@link RefusedError} if there is none
 */
export async function requireTenant(
  context: Pick<StepContext, 'executor' | 'settings'>,
  slugOrId: string,
): Promise<RegisteredTenant> {
  await requireRegistry(context);
  const rows = await context.executor.read<RegisteredTenant>(
    `select tenant_id::text as "tenantId", tenant_slug as slug, deleted_at is not null as "isDeleted"
       from tenants
      where tenant_slug = $1 or tenant_id::text = lower($1 collate "C")
      order by tenant_slug <> $1 limit 1`,
    [slugOrId],
  );
  if (rows.length === 0) {
    throw new RefusedError(
      `There is no tenant "${slugOrId}". Expected the slug of one, such as "default".`,
    );
  }
  return rows[0];
}

/** The schema to look for an engine in, if one was named or follows from the tenant. */
function wantedSchema(
  { catalogSchema }: StepContext['settings'],
  tenantId: string,
): string | undefined {
  return (
    catalogSchema ??
    (tenantId === DEFAULT_TENANT_ID ? undefined : engineSchemaOf(tenantId))
  );
}

/**
 * The schemas in which all tables of an engine stand; for the default tenant, without those
 * that are named after other tenants.
 *
 * @param wanted - the only schema to look at: of thousands of tenants, each has such tables
 */
export async function findEngines(
  { executor, settings }: Pick<StepContext, 'executor' | 'settings'>,
  tenantId: string,
  wanted = wantedSchema(settings, tenantId),
): Promise<Engine[]> {
  return executor.read<Engine>(
    `select n.nspname as schema, $3::text as "tenantId"
       from pg_namespace n
      where n.nspname = coalesce($5, n.nspname)
        and n.nspname <> $2 and n.nspname !~ '^pg_' and n.nspname !~ $4 and not exists (
        select from jsonb_each($1::jsonb) t, jsonb_array_elements_text(t.value) c
         where not exists (
           select from pg_class r
             join pg_attribute a on a.attrelid = r.oid and a.attname = c
            where r.relnamespace = n.oid and r.relname = t.key
              and r.relkind = 'r' and not a.attisdropped))
      order by 1`,
    [
      JSON.stringify(COLUMNS),
      settings.schema,
      tenantId,
      tenantId === DEFAULT_TENANT_ID ? OTHER_TENANTS : '^$',
      wanted,
    ],
  );
}

/**
 * The engine whose catalog is adopted: the one that was named, or the only one.
 *
 * @throws {@link RefusedError} if there is none, or more than one
 */
export async function requireEngine(
  context: Pick<StepContext, 'executor' | 'settings'>,
  tenantId: string,
): Promise<Engine> {
  const [engine, ...others] = await findEngines(context, tenantId);
  if (!engine) {
    const wanted = wantedSchema(context.settings, tenantId);
    throw new RefusedError(
      `${
        wanted ? `The schema "${wanted}"` : 'This database'
      } has no tables of a stock catalog. Expected ${ENGINE_TABLES.join(
        ', ',
      )} as @backstage/plugin-catalog-backend 4.0 has them: start the backend once, ` +
        'or name their schema (--catalog-schema).',
    );
  }
  if (others.length > 0) {
    const list = [engine, ...others]
      .map(({ schema }) => `"${schema}"`)
      .join(', ');
    throw new RefusedError(
      `Several schemas have tables of a stock catalog: ${list}. Name the one to ` +
        'adopt (--catalog-schema).',
    );
  }
  return engine;
}
