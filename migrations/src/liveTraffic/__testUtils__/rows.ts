import type { TenantTable } from '../../schema/tables';

/** A row as texts, just as they were sent to the database or returned by it. */
export type Row = Readonly<Record<string, string | null>>;

/** An entity with what hangs on it, and goes with it when it is deleted. */
export interface RecordedEntity {
  readonly row: Row;
  readonly relations: readonly Row[];
  readonly refreshState?: Row;
}

/** Entities by their `entity_id`. */
export type Entities = ReadonlyMap<string, RecordedEntity>;

export interface Column {
  name: string;
  type: string;
}

/**
 * The columns that the tables had before the migration, and that they have to
 * have ever after (see seed.ts).
 */
export const COLUMNS: Record<TenantTable, Column[]> = {
  entities: columns({
    entity_id: 'uuid',
    entity_ref: 'text',
    entity_kind: 'text',
    entity_namespace: 'text',
    entity_name: 'text',
    final_entity: 'jsonb',
    hash: 'text',
    stitch_ticket: 'text',
    created_at: 'timestamp with time zone',
    updated_at: 'timestamp with time zone',
    deleted_at: 'timestamp with time zone',
  }),
  relations: columns({
    originating_entity_id: 'uuid',
    source_entity_ref: 'text',
    type: 'text',
    target_entity_ref: 'text',
    weight: 'numeric(6,2)',
    noted_at: 'timestamp with time zone',
  }),
  refresh_state: columns({
    entity_id: 'uuid',
    location_key: 'text',
    next_update_at: 'timestamp with time zone',
    errors: 'jsonb',
    attempts: 'integer',
    ref_length: 'integer',
  }),
};

function columns(types: Record<string, string>): Column[] {
  return Object.entries(types).map(([name, type]) => ({ name, type }));
}

/** How often the trigger on relations has fired, as `relation_history` shows. */
export interface History {
  INSERT: number;
  UPDATE: number;
  DELETE: number;
}

export function addHistory(a: History, b: History): History {
  return {
    INSERT: a.INSERT + b.INSERT,
    UPDATE: a.UPDATE + b.UPDATE,
    DELETE: a.DELETE + b.DELETE,
  };
}

export const NO_HISTORY: History = { INSERT: 0, UPDATE: 0, DELETE: 0 };
