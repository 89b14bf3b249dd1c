import { InputError } from '@backstage/errors';
import { engineSchemaOf } from 'backstage-catalog-tenancy-migrations';
import createLimit, { type Limit } from 'p-limit';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { sqlStateOf } from '../engine/failures';
import type { EnginePool } from '../work/EnginePool';
import { TurnsByKey } from '../work/TurnsByKey';

/** In the schema of each engine, with which it is dropped. */
export const READS_TABLE = 'tenancy_reads_under_way';

/** After how many deaths of its process a location is set aside. */
const DEATHS = 2;

/** How long an end waits for others. The next begin writes it in the same statement. */
const GATHER_MS = 1_000;

const UNDEFINED_TABLE = '42P01';

/** The error at the location. */
export const SET_ASIDE =
  'set aside: the process died twice while reading it. Refresh it (POST /refresh or the button) to try again';

interface Note {
  deaths: number;
  /** Whether the row says that this process reads the location. */
  hasBegun: boolean;
}

/** The changes to be written for a tenant. */
interface Notes {
  /** The statements of a tenant follow each other. */
  inTurn: Limit;
  ended: Set<string>;
  timer?: NodeJS.Timeout;
}

/**
 * The locations that the engines of this process read at the moment, in the database: a
 * location with a row of another process was being read when that process died. After the
 * second time it is not read again until a user refreshes it.
 *
 * A death does not show which of the locations caused it. After the first death each of them is
 * read alone, so the location of the second death is the cause.
 */
export class ReadsUnderWay {
  readonly #pool: Pick<EnginePool, 'query'>;
  readonly #longestMs: number;
  readonly #processId = randomUUID();
  readonly #tenants = new Map<string, Notes>();
  readonly #suspects = createLimit(1);
  /** One suspect of each tenant waits: all of a tenant's may hang until the reader gives up. */
  readonly #byTenant = new TurnsByKey();
  /** Ends the reads of single suspects, by tenant and location. */
  readonly #turns = new Map<string, () => void>();

  /** @param options - `longestMs`: for how long others wait for a location that is read alone */
  constructor(options: { pool: Pick<EnginePool, 'query'>; longestMs: number }) {
    this.#pool = options.pool;
    this.#longestMs = options.longestMs;
  }

  /**
   * Called before a location is read.
   *
   * @throws InputError for one that is set aside
   */
  async begin(tenantId: string, entityRef: string): Promise<void> {
    let note = await this.#note(tenantId, entityRef);
    if (!note.hasBegun && note.deaths < DEATHS) {
      const key = keyOf(tenantId, entityRef);
      await this.#turnOf(tenantId, key);
      try {
        note = await this.#note(tenantId, entityRef);
      } catch (error) {
        this.#turns.get(key)?.();
        throw error;
      }
    }
    if (!note.hasBegun) {
      throw new InputError(SET_ASIDE);
    }
  }

  /** Called after a location was read, or could not be. */
  end(tenantId: string, entityRef: string): void {
    this.#turns.get(keyOf(tenantId, entityRef))?.();
    const notes = this.#of(tenantId);
    notes.ended.add(entityRef);
    notes.timer ??= setTimeout(() => {
      notes.timer = undefined;
      this.#write(tenantId, ended => [
        `delete from ${tableOf(tenantId)}
          where process_id = $1 and entity_ref = any ($2)`,
        [this.#processId, ended],
        // The next statement removes them.
      ]).catch(() => undefined);
    }, GATHER_MS).unref();
  }

  /** Called when this process ends the work of a tenant in order; never rejects. */
  async leave(tenantId: string): Promise<void> {
    const { inTurn, timer } = this.#of(tenantId);
    clearTimeout(timer);
    // Its tenant may be deleted.
    this.#tenants.delete(tenantId);
    await inTurn(() =>
      this.#pool.query(
        `delete from ${tableOf(tenantId)} where process_id = $1`,
        [this.#processId],
        engineSchemaOf(tenantId),
      ),
    )
      // The engine may have no such table, or no tables at all.
      .catch(() => undefined);
  }

  /**
   * Makes set-aside locations readable again: the location itself, or those from which an
   * entity comes, which its refresh refreshes too.
   *
   * @returns whether there was such a location
   */
  async resume(tenantId: string, entityRef: string): Promise<boolean> {
    const schema = schemaOf(tenantId);
    // Locks: the rows of these locations, for this statement. They are made due once more: the
    // engine may have looked at them between the refresh and this.
    const rows = await this.#query(
      tenantId,
      `with recursive sources (ref) as (
         select lower($1)
          union
         select r.source_entity_ref
           from ${schema}.refresh_state_references r join sources s on r.target_entity_ref = s.ref
          where r.source_entity_ref is not null),
       resumed as (
         delete from ${tableOf(tenantId)}
          where process_id is null and entity_ref in (select ref from sources)
         returning entity_ref)
       update ${schema}.refresh_state set next_update_at = now()
        where entity_ref in (select entity_ref from resumed)
       returning entity_ref`,
      [entityRef],
    );
    return rows.length > 0;
  }

  /** Resolves when no other suspect is read: the tenants in turn. */
  #turnOf(tenantId: string, key: string): Promise<void> {
    return new Promise(begin => {
      const read = async () => {
        const ended = new Promise<void>(end => this.#turns.set(key, end));
        begin();
        // No end is reported for a reader that hangs.
        await Promise.race([
          ended,
          delay(this.#longestMs, undefined, { ref: false }),
        ]);
        this.#turns.delete(key);
      };
      this.#byTenant.run(tenantId, () => this.#suspects(read));
    });
  }

  async #note(tenantId: string, entityRef: string): Promise<Note> {
    // Locks: these rows, which no other process writes at the same time, for this statement.
    const [note] = await this.#write<Note>(tenantId, ended => [
      `with ended as (
         delete from ${tableOf(tenantId)}
          where process_id = $1 and entity_ref = any ($3))
       insert into ${tableOf(
         tenantId,
       )} as r (entity_ref, process_id) values ($2, $1)
       on conflict (entity_ref) do update
          set deaths = r.deaths + case when r.process_id <> $1 then 1 else 0 end,
              process_id = case when r.process_id <> $1 or r.deaths >= ${DEATHS}
                                then null else $1 end
       returning deaths, process_id is not null as "hasBegun"`,
      [this.#processId, entityRef, ended.filter(ref => ref !== entityRef)],
    ]);
    return note;
  }

  /** Runs a statement after those before it, by which what has ended is removed. */
  async #write<TRow extends object>(
    tenantId: string,
    statement: (ended: string[]) => [sql: string, values: unknown[]],
  ): Promise<TRow[]> {
    const { ended, inTurn } = this.#of(tenantId);
    return inTurn(async () => {
      const written = [...ended];
      const [sql, values] = statement(written);
      const rows = await this.#query<TRow>(tenantId, sql, values);
      written.forEach(ref => ended.delete(ref));
      return rows;
    });
  }

  /** Creates the table if it is missing. */
  async #query<TRow extends object>(
    tenantId: string,
    sql: string,
    values: unknown[],
  ): Promise<TRow[]> {
    const schema = engineSchemaOf(tenantId);
    try {
      return await this.#pool.query<TRow>(sql, values, schema);
    } catch (error) {
      if (sqlStateOf(error) !== UNDEFINED_TABLE) {
        throw error;
      }
      await this.#pool.query(createTable(tenantId), [], schema);
      return this.#pool.query<TRow>(sql, values, schema);
    }
  }

  #of(tenantId: string): Notes {
    let notes = this.#tenants.get(tenantId);
    if (!notes) {
      notes = { inTurn: createLimit(1), ended: new Set() };
      this.#tenants.set(tenantId, notes);
    }
    return notes;
  }
}

function keyOf(tenantId: string, entityRef: string): string {
  return `${tenantId} ${entityRef}`;
}

function schemaOf(tenantId: string): string {
  return `"${engineSchemaOf(tenantId)}"`;
}

function tableOf(tenantId: string): string {
  return `${schemaOf(tenantId)}.${READS_TABLE}`;
}

function createTable(tenantId: string): string {
  return `create table if not exists ${tableOf(tenantId)} (
    entity_ref text primary key,
    -- The process that reads the location; nothing after its death.
    process_id uuid,
    deaths int not null default 0
  )`;
}
