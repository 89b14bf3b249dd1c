import type { TenantTable } from '../schema/tables';

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
  entities: [
    { name: 'entity_id', type: 'uuid' },
    { name: 'entity_ref', type: 'text' },
    { name: 'entity_kind', type: 'text' },
    { name: 'entity_namespace', type: 'text' },
    { name: 'entity_name', type: 'text' },
    { name: 'final_entity', type: 'jsonb' },
    { name: 'hash', type: 'text' },
    { name: 'stitch_ticket', type: 'text' },
    { name: 'created_at', type: 'timestamp with time zone' },
    { name: 'updated_at', type: 'timestamp with time zone' },
    { name: 'deleted_at', type: 'timestamp with time zone' },
  ],
  relations: [
    { name: 'originating_entity_id', type: 'uuid' },
    { name: 'source_entity_ref', type: 'text' },
    { name: 'type', type: 'text' },
    { name: 'target_entity_ref', type: 'text' },
    { name: 'weight', type: 'numeric(6,2)' },
    { name: 'noted_at', type: 'timestamp with time zone' },
  ],
  refresh_state: [
    { name: 'entity_id', type: 'uuid' },
    { name: 'location_key', type: 'text' },
    { name: 'next_update_at', type: 'timestamp with time zone' },
    { name: 'errors', type: 'jsonb' },
    { name: 'attempts', type: 'integer' },
    { name: 'ref_length', type: 'integer' },
  ],
};

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
