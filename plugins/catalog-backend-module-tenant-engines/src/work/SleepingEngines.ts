import { engineSchemaOf } from 'backstage-catalog-tenancy-migrations';
import { escapeIdentifier } from 'pg';
import type { EnginePool, SchemaDatabase } from './EnginePool';
import type { BackgroundWork } from './BackgroundWork';
import { type Due, Hibernation } from './Hibernation';

/** Are processed within a second or two. */
const FEW_ITEMS = 100;

/**
 * Since when the oldest item of each engine is due, if one is. It neither waits for an engine whose
 * tables are locked nor for one without tables.
 */
export type ReadOldest = (
  tenantIds: string[],
) => Promise<Map<string, Date | null>>;

/** The hibernation of each engine of this process, by its tenant. */
export class SleepingEngines {
  readonly #pool: EnginePool;
  readonly #readOldest: ReadOldest;
  readonly #engines = new Map<string, Hibernation>();

  constructor(pool: EnginePool, readOldest: ReadOldest) {
    this.#pool = pool;
    this.#readOldest = readOldest;
  }

  /**
   * The database of an engine that starts. Closed, the engine's polls end.
   *
   * @param options - `onIdle` is called when nothing is due and nothing under way
   */
  open(options: {
    tenantId: string;
    work: BackgroundWork;
    onIdle: () => void;
  }): SchemaDatabase {
    const { tenantId, work, onIdle } = options;
    const hibernation = new Hibernation({
      work,
      onIdle,
      readDue: () => this.#readDue(tenantId),
    });
    this.#engines.set(tenantId, hibernation);
    const database = this.#pool.forSchema(engineSchemaOf(tenantId), {
      gate: hibernation,
    });
    return {
      knex: database.knex,
      close: () => {
        hibernation.stop();
        database.close();
        // Another engine of the tenant may have started meanwhile.
        if (this.#engines.get(tenantId) === hibernation) {
          this.#engines.delete(tenantId);
        }
      },
    };
  }

  /** Nothing where this process runs no engine of the tenant. */
  of(tenantId: string): Hibernation | undefined {
    return this.#engines.get(tenantId);
  }

  /** Makes the engine of a tenant look for work, if this process runs it. */
  wake(tenantId: string): void {
    this.#engines.get(tenantId)?.wake();
  }

  /**
   * Wakes the engines that missed work: after changes by hand, and after changes by other
   * processes without a notification.
   */
  async wakeDue(): Promise<void> {
    const sleeping = [...this.#engines]
      .filter(([, hibernation]) => hibernation.isAsleep)
      .map(([tenantId]) => tenantId);
    const oldest = await this.#readOldest(sleeping);
    oldest.forEach((since, tenantId) => since && this.wake(tenantId));
  }

  async #readDue(tenantId: string): Promise<Due> {
    const name = engineSchemaOf(tenantId);
    const schema = escapeIdentifier(name);
    const inMs = (min: string) =>
      `extract(epoch from ${min} - clock_timestamp())::float8 * 1000`;
    const [{ processing, stitching, hasFewItems }] = await this.#pool.query<{
      processing: number | null;
      stitching: number | null;
      hasFewItems: boolean;
    }>(
      `select (select ${inMs('min(next_update_at)')}
                 from ${schema}.refresh_state) as processing,
              (select ${inMs('min(next_stitch_at)')}
                 from ${schema}.stitch_queue) as stitching,
              not exists (select from ${schema}.refresh_state
                          offset ${FEW_ITEMS}) as "hasFewItems"`,
      [],
      name,
    );
    return {
      hasFewItems,
      processing: processing ?? undefined,
      stitching: stitching ?? undefined,
    };
  }
}
