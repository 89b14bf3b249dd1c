import { addHistory, NO_HISTORY } from './rows';
import type { History, RecordedEntity, Row } from './rows';

/**
 * What a writer did to an entity that all of them write. `order` was drawn from
 * a sequence while the writer held the lock on the row, so that it is the order
 * in which the database let the writers in.
 */
export type SharedWrite = { order: number; ref: string; entityId: string } & (
  | { kind: 'upsert'; sent: Row; ticket: string }
  | { kind: 'relate'; relation: Row }
  | { kind: 'delete' }
);

/** Which entities all writers write. */
export const SHARED_REFS = Array.from(
  { length: 8 },
  (_, index) => `shared:default/entity-${index}`,
);

/** Some of them are deleted now and then, and inserted again by an upsert. */
export function isDeletable(ref: string): boolean {
  return SHARED_REFS.indexOf(ref) % 2 === 1;
}

export interface Replayed {
  entities: RecordedEntity[];
  history: History;
  /** Writes that can't have happened in that order: lost updates, double rows. */
  contradictions: string[];
}

/** Works out what the shared entities must be after the writes of all writers. */
export function replay(writes: SharedWrite[]): Replayed {
  const entities = new Map<string, RecordedEntity>();
  const contradictions: string[] = [];
  let history = NO_HISTORY;
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
    history = addHistory(history, historyOf(before, write));
  }
  return { entities: [...entities.values()], history, contradictions };
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
      return before && relate(before, write.relation);
    default: {
      const { final_entity, hash, updated_at } = write.sent;
      const kept = before ? before.row : write.sent;
      return {
        relations: before?.relations ?? [],
        row: {
          ...kept,
          final_entity,
          hash,
          updated_at,
          stitch_ticket: write.ticket,
        },
      };
    }
  }
}

function relate(entity: RecordedEntity, relation: Row): RecordedEntity {
  return { ...entity, relations: [...entity.relations, relation] };
}

function historyOf(
  before: RecordedEntity | undefined,
  { kind }: SharedWrite,
): History {
  return {
    INSERT: kind === 'relate' ? 1 : 0,
    UPDATE: 0,
    DELETE: kind === 'delete' ? before?.relations.length ?? 0 : 0,
  };
}
