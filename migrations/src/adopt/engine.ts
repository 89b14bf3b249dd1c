import type { StepContext } from '../engine/Step';
import { RefusedError } from '../errors';
import { escapeIdentifier } from '../sql';

/** The tables of the stock catalog's engine that we carry. */
export const ENGINE_TABLES = [
  'relations',
  'refresh_state',
  'refresh_state_references',
  'final_entities',
] as const;

export type EngineTable = (typeof ENGINE_TABLES)[number];

/** Where the tables of the stock catalog's engine stand. */
export interface Engine {
  schema: string;
}

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

/** The name of a table of the engine, as SQL. */
export function engineTable({ schema }: Engine, table: EngineTable): string {
  return `${escapeIdentifier(schema)}.${table}`;
}

/** The schemas in which all tables of the engine stand. */
export async function findEngines({
  executor,
  settings,
}: Pick<StepContext, 'executor' | 'settings'>): Promise<Engine[]> {
  return executor.read<Engine>(
    `select n.nspname as schema
       from pg_namespace n
      where n.nspname <> $2 and n.nspname !~ '^pg_' and not exists (
        select from jsonb_each($1::jsonb) t, jsonb_array_elements_text(t.value) c
         where not exists (
           select from pg_class r
             join pg_attribute a on a.attrelid = r.oid and a.attname = c
            where r.relnamespace = n.oid and r.relname = t.key
              and r.relkind = 'r' and not a.attisdropped))
      order by 1`,
    [JSON.stringify(COLUMNS), settings.schema],
  );
}

/**
 * The engine whose catalog is adopted: the one that was named, or the only one.
 *
 * @throws {@link RefusedError} if there is none, or more than one
 */
export async function requireEngine(
  context: Pick<StepContext, 'executor' | 'settings'>,
): Promise<Engine> {
  const { catalogSchema: wanted } = context.settings;
  const found = await findEngines(context);
  const engine = wanted
    ? found.find(({ schema }) => schema === wanted)
    : found[0];
  if (!engine) {
    throw new RefusedError(
      `${
        wanted ? `The schema "${wanted}"` : 'This database'
      } has no tables of a stock catalog. Expected ${ENGINE_TABLES.join(
        ', ',
      )} as @backstage/plugin-catalog-backend 4.0 has them: start the backend once, ` +
        'or name their schema (--catalog-schema).',
    );
  }
  if (!wanted && found.length > 1) {
    const list = found.map(({ schema }) => `"${schema}"`).join(', ');
    throw new RefusedError(
      `Several schemas have tables of a stock catalog: ${list}. Name the one to ` +
        'adopt (--catalog-schema).',
    );
  }
  return engine;
}
