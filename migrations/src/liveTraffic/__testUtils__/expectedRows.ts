import type { TenantTable } from '../../schema/tables';

/** A row as texts, exactly as they were sent to the database or returned by it. */
export type Row = Readonly<Record<string, string | null>>;

/** An entity with the rows that cascade when it is deleted. */
export interface RecordedEntity {
  readonly row: Row;
  readonly relations: readonly Row[];
  readonly refreshState?: Row;
}

/** Entities by their `entity_id`. */
export type Entities = ReadonlyMap<string, RecordedEntity>;

/** What one writer has committed. */
export interface Committed {
  /** The entities that only this writer touches. */
  readonly entities: Entities;
  readonly shared: readonly SharedWrite[];
}

/**
 * The rows of one writer after its open transaction: the committed ones with the
 * changes so far, which the writer keeps on COMMIT and drops on ROLLBACK.
 */
export class ExpectedRows {
  private entities: Map<string, RecordedEntity>;
  private shared: SharedWrite[] = [];

  constructor(committed: Committed) {
    this.entities = new Map(committed.entities);
  }

  all(): RecordedEntity[] {
    return [...this.entities.values()];
  }

  put(entity: RecordedEntity): void {
    this.entities.set(entity.row.entity_id!, entity);
  }

  /** Removes an entity; its relations cascade. */
  remove({ row }: RecordedEntity): void {
    this.entities.delete(row.entity_id!);
  }

  share(write: SharedWrite): void {
    this.shared.push(write);
  }

  /** What ROLLBACK TO SAVEPOINT brings back. */
  savepoint(): () => void {
    const { entities, shared } = this;
    this.entities = new Map(entities);
    this.shared = [...shared];
    return () => {
      Object.assign(this, { entities, shared });
    };
  }

  /** What is committed, once the transaction is. */
  committedAfter(before: Committed): Committed {
    return {
      entities: this.entities,
      shared: [...before.shared, ...this.shared],
    };
  }
}

/** The entities that all writers of a tenant write. */
export const SHARED_REFS = Array.from(
  { length: 8 },
  (_, index) => `shared:default/entity-${index}`,
);

/** Every other one is deleted now and then, and inserted again by an upsert. */
export function isDeletable(ref: string): boolean {
  return SHARED_REFS.indexOf(ref) % 2 === 1;
}

/**
 * A write to an entity that all writers write. The writer drew `order` from a
 * sequence while it held the lock on the row, so that it is the order in which the
 * database granted the lock.
 */
export type SharedWrite = { order: number; ref: string; entityId: string } & (
  | { kind: 'upsert'; sent: Row; ticket: string }
  | { kind: 'relate'; relation: Row }
  | { kind: 'delete' }
);

export interface Replayed {
  entities: RecordedEntity[];
  /** Writes that are impossible in that order: lost updates, double rows. */
  contradictions: string[];
}

/** Works out the shared entities after the writes of all writers. */
export function replay(writes: SharedWrite[]): Replayed {
  const entities = new Map<string, RecordedEntity>();
  const contradictions: string[] = [];
  for (const write of [...writes].sort((a, b) => a.order - b.order)) {
    const before = entities.get(write.ref);
    const contradiction = findContradiction(before, write);
    if (contradiction) {
      contradictions.push(
        `${write.ref}, write ${write.order}: ${contradiction}`,
      );
    }
    const after = apply(before, write);
    if (after) {
      entities.set(write.ref, after);
    } else {
      entities.delete(write.ref);
    }
  }
  return { entities: [...entities.values()], contradictions };
}

function findContradiction(
  before: RecordedEntity | undefined,
  write: SharedWrite,
): string | undefined {
  const inserts =
    write.kind === 'upsert' && write.sent.entity_id === write.entityId;
  if (inserts) {
    return before && 'inserted, although it was there';
  }
  if (before?.row.entity_id !== write.entityId) {
    return `${write.kind} of ${write.entityId}, but it was ${
      before?.row.entity_id ?? 'not there'
    }`;
  }
  const next = String(Number(before.row.stitch_ticket) + 1);
  return write.kind === 'upsert' && write.ticket !== next
    ? `updated to ${write.ticket} instead of ${next}: an update was lost`
    : undefined;
}

function apply(
  before: RecordedEntity | undefined,
  write: SharedWrite,
): RecordedEntity | undefined {
  switch (write.kind) {
    case 'delete':
      return undefined;
    case 'relate':
      return (
        before && {
          ...before,
          relations: [...before.relations, write.relation],
        }
      );
    default: {
      const { final_entity, hash, updated_at } = write.sent;
      return {
        relations: before?.relations ?? [],
        row: {
          ...(before?.row ?? write.sent),
          ...{ final_entity, hash, updated_at },
          stitch_ticket: write.ticket,
        },
      };
    }
  }
}

/** What the three tables must hold. */
export interface TrafficRecord {
  tenants: {
    /** The tenant of the entities; none before the migration. */
    tenantId?: string;
    entities: RecordedEntity[];
  }[];
  /** What writers did that is impossible in any one order. */
  contradictions: string[];
}

export interface Column {
  name: string;
  type: string;
}

/** The columns before the migration (see seed.ts), which it must keep. */
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
  }),
};

function columns(types: Record<string, string>): Column[] {
  return Object.entries(types).map(([name, type]) => ({ name, type }));
}
