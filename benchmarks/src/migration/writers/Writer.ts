import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Session, type Application } from './Application';
import type { Database } from '../database';
import type { WriteLog } from './WriteLog';

// Entities of its own that a writer keeps, before it deletes the oldest.
const OWN_ENTITIES = 100;

// What an application does between two transactions.
const PAUSE_MS = 1;

/**
 * One connection that writes without an end, one small transaction after the
 * other. Entities that it shares with no other writer: whatever it waits for is
 * the migration.
 */
export class Writer {
  readonly #log: WriteLog;
  readonly #entityIds: string[];
  readonly #ownIds: string[] = [];
  #stopped = false;
  #done?: Promise<void>;

  /** @param entityIds - existing ones, which only this writer changes */
  constructor(log: WriteLog, entityIds: string[]) {
    this.#log = log;
    this.#entityIds = entityIds;
  }

  /** Begins to write as an application. */
  async start(database: Database, application: Application): Promise<void> {
    const session = await Session.open(database, application);
    this.#stopped = false;
    this.#done = this.#write(session).finally(() => session.close());
    // Who stops the writer is told; nobody waits for it before.
    this.#done.catch(() => undefined);
  }

  /** Ends the connection after the write that is under way. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#done;
  }

  async #write(session: Session): Promise<void> {
    const kinds = [
      () => this.#updateEntity(session),
      () => this.#refresh(session),
      () => this.#insertEntity(session),
      () => this.#replaceRelations(session),
      () => this.#deleteEntity(session),
    ];
    for (let count = 0; !this.#stopped; count += 1) {
      const began = this.#log.current;
      const from = performance.now();
      const error = await kinds[count % kinds.length]().catch(
        caught => caught ?? new Error('unknown'),
      );
      const to = performance.now();
      const commit = error === undefined ? session.commitSentAt : to;
      this.#log.add(began, { from, commit, to }, error);
      await pause(PAUSE_MS);
    }
  }

  #updateEntity(session: Session): Promise<void> {
    const hash = randomUUID();
    return session.transaction(() =>
      session.change(
        `update entities set hash = $2, updated_at = now(), final_entity =
           jsonb_set(final_entity, '{metadata,etag}', to_jsonb($2::text))`,
        'entity_id = $1',
        [this.#anyId(), hash],
        1,
      ),
    );
  }

  #refresh(session: Session): Promise<void> {
    return session.transaction(() =>
      session.change(
        `update refresh_state set next_update_at = now() + interval '2 minutes'`,
        'entity_id = $1',
        [this.#anyId()],
        1,
      ),
    );
  }

  #replaceRelations(session: Session): Promise<void> {
    const id = this.#anyId();
    return session.transaction(async () => {
      await session.change(
        'delete from relations',
        'originating_entity_id = $1',
        [id],
      );
      await session.insert(
        'relations',
        ['ownedBy', 'partOf', 'dependsOn'].map(type => relation(id, id, type)),
      );
    });
  }

  async #insertEntity(session: Session): Promise<void> {
    const id = randomUUID();
    const ref = `component:default/${id}`;
    await session.transaction(async () => {
      await session.insert('entities', [entity(id, ref)]);
      await session.insert('relations', [relation(id, ref, 'ownedBy')]);
      await session.insert('refresh_state', [{ entity_id: id }]);
    });
    this.#ownIds.push(id);
  }

  async #deleteEntity(session: Session): Promise<void> {
    const id =
      this.#ownIds.length > OWN_ENTITIES ? this.#ownIds.shift() : undefined;
    // One more update until there are enough of them.
    await (id === undefined
      ? this.#updateEntity(session)
      : session.transaction(() =>
          session.change('delete from entities', 'entity_id = $1', [id], 1),
        ));
  }

  #anyId(): string {
    return this.#entityIds[Math.floor(Math.random() * this.#entityIds.length)];
  }
}

function entity(id: string, ref: string) {
  const finalEntity = {
    apiVersion: 'backstage.io/v1alpha1',
    kind: 'Component',
    metadata: { name: id, description: `Written for ${ref}. `.repeat(20) },
    spec: { type: 'service', owner: 'group:default/writers' },
  };
  return {
    entity_id: id,
    entity_ref: ref,
    entity_kind: 'component',
    entity_namespace: 'default',
    entity_name: id,
    final_entity: JSON.stringify(finalEntity),
    hash: id,
  };
}

function relation(id: string, sourceRef: string, type: string) {
  return {
    originating_entity_id: id,
    source_entity_ref: sourceRef,
    type,
    target_entity_ref: 'group:default/writers',
  };
}
