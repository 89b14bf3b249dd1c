import { addHistory, NO_HISTORY } from './rows';
import type { Entities, History, RecordedEntity } from './rows';
import type { SharedWrite } from './SharedRows';

/** What one writer has committed. */
export interface Committed {
  /** The entities that only this writer touches. */
  readonly entities: Entities;
  readonly shared: readonly SharedWrite[];
  readonly history: History;
  /** The last default of `refresh_state.attempts`, which a sequence hands out. */
  readonly lastSerial: number;
}

/**
 * What a writer's transaction has done so far: the committed state with changes
 * that become committed with the transaction, or are forgotten with it.
 */
export class Draft {
  lastSerial: number;
  private entities: Map<string, RecordedEntity>;
  private shared: SharedWrite[];
  private history: History;

  constructor(committed: Committed) {
    this.entities = new Map(committed.entities);
    this.shared = [];
    this.history = NO_HISTORY;
    this.lastSerial = committed.lastSerial;
  }

  all(): RecordedEntity[] {
    return [...this.entities.values()];
  }

  put(entity: RecordedEntity): void {
    this.entities.set(entity.row.entity_id!, entity);
  }

  remove({ row }: RecordedEntity): void {
    this.entities.delete(row.entity_id!);
  }

  /** The trigger on relations fires so many times more. */
  fired(operation: keyof History, times: number): void {
    this.history = addHistory(this.history, {
      ...NO_HISTORY,
      [operation]: times,
    });
  }

  share(write: SharedWrite): void {
    this.shared.push(write);
  }

  /** What ROLLBACK TO SAVEPOINT brings back. */
  savepoint(): () => void {
    const { entities, shared, history } = this;
    this.entities = new Map(entities);
    this.shared = [...shared];
    return () => {
      Object.assign(this, { entities, shared, history });
    };
  }

  /** What is committed, once the transaction is. */
  committedAfter(before: Committed): Committed {
    return {
      entities: this.entities,
      shared: [...before.shared, ...this.shared],
      history: addHistory(before.history, this.history),
      lastSerial: this.lastSerial,
    };
  }
}
