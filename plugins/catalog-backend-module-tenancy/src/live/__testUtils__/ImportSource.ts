import type { LiveCatalog } from './LiveCatalog';
import { deferred } from './LiveEngine';
import { change, type Draft, foreign } from './drafts';
import { type FailedStatement, isOfItsOwn } from './EngineLog';
import type { Random } from '@internal/postgres/testUtils';
import type { Source } from './sources';

const LOCATION_KEY = 'import';

const MOST_ATTEMPTS = 20;

/**
 * A tool that writes to the engine's tables, with ids of its own that are no UUIDs. The
 * engine processes and stitches such an entity as any other; it cannot be carried over.
 */
export class ImportSource implements Source {
  readonly name = 'import';
  private current?: Draft;
  private count = 0;

  constructor(
    private readonly catalog: LiveCatalog,
    private readonly random: Random,
  ) {}

  drafts(): Draft[] {
    return this.current ? [this.current] : [];
  }

  /** There is one such entity at most. */
  async act(): Promise<void> {
    const { random } = this;
    if (!this.current) {
      this.count += 1;
      await this.add(foreign(random, `import-${this.count}`));
    } else if (random.chance(0.3)) {
      await this.remove(this.current);
    } else {
      await this.update({
        ...change(random, this.current),
        convertible: false,
      });
    }
  }

  private async add(draft: Draft): Promise<void> {
    await this.write(
      `with state as (
         insert into public.refresh_state
           (entity_id, entity_ref, unprocessed_entity, unprocessed_hash, errors,
            location_key, next_update_at, last_discovery_at)
         values ($1, $2, $3, '', '', $4, now(), now()))
       insert into public.refresh_state_references (source_key, target_entity_ref)
       values ('parts', $2)`,
      [`${draft.ref}-${this.count}`, draft.ref, textOf(draft), LOCATION_KEY],
    );
    this.current = draft;
  }

  private async update(draft: Draft): Promise<void> {
    await this.write(
      `update public.refresh_state
          set unprocessed_entity = $2, result_hash = '', next_update_at = now()
        where entity_ref = $1`,
      [draft.ref, textOf(draft)],
    );
    this.current = draft;
  }

  private async remove({ ref }: Draft): Promise<void> {
    await this.write('delete from public.refresh_state where entity_ref = $1', [
      ref,
    ]);
    this.current = undefined;
  }

  /** Tries again where it and the engine deadlock over rows of the stock catalog alone. */
  private async write(sql: string, values: unknown[]): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.catalog.database.query(sql, values);
        return;
      } catch (error) {
        const failed = error as FailedStatement;
        if (
          failed.code !== '40P01' ||
          !isOfItsOwn(failed, sql) ||
          attempt === MOST_ATTEMPTS
        ) {
          throw new Error(
            [failed.message, failed.where, failed.detail].join('\n'),
            { cause: error },
          );
        }
      }
    }
  }
}

function textOf({ entity }: Draft): string {
  return JSON.stringify(deferred(entity, LOCATION_KEY).entity);
}
