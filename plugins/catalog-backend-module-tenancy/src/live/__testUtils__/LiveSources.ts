import { setTimeout as delay } from 'node:timers/promises';
import type { Entity } from '@backstage/catalog-model';
import { Random, waitUntil } from '@internal/postgres/testUtils';
import { FileSource } from './FileSource';
import { type LiveCatalog, PATIENCE_MS } from './LiveCatalog';
import { ProviderSource } from './ProviderSource';
import type { LiveSizes } from './sizes';
import type { Source } from './sources';

/** All sources of a catalog's entities, each of which acts without a pause. */
export class LiveSources {
  private readonly sources: Source[];
  private readonly random: Random;
  private loops: Promise<void>[] = [];
  private acting = false;
  private readonly acts = new Map<string, number>();

  constructor(
    private readonly catalog: LiveCatalog,
    private readonly sizes: LiveSizes,
  ) {
    this.random = new Random(sizes.seed);
    const random = () => new Random(this.random.below(1_000_000));
    this.sources = [
      new ProviderSource(catalog, random(), 'whole', sizes.provided),
      new ProviderSource(catalog, random(), 'parts', sizes.provided),
      new FileSource(catalog, random(), catalog.folder, sizes.files),
    ];
  }

  start(): void {
    this.acting = true;
    this.acts.clear();
    this.loops = this.sources.map(source => this.loop(source));
    // A rejection reaches the caller that waits for the loops, which may come later.
    this.loops.forEach(loop => loop.catch(() => undefined));
  }

  /** Resolves once each source has acted so often since the start. */
  async acted(times = 2): Promise<void> {
    const enough = () =>
      this.sources.every(({ name }) => (this.acts.get(name) ?? 0) >= times);
    const failed = Promise.all(this.loops);
    await Promise.race([
      waitUntil('all sources to act', enough, { withinMs: PATIENCE_MS }),
      failed.then(() => {
        throw new Error('The sources stopped before they had acted');
      }),
    ]);
  }

  /** Stops after what each source is at. */
  async pause(): Promise<void> {
    this.acting = false;
    await Promise.all(this.loops);
  }

  /** Of the entities that there are to be, the version by the ref. */
  expected(which: { convertible?: boolean } = {}): Record<string, number> {
    return Object.fromEntries(
      this.sources
        .flatMap(source => source.drafts())
        .filter(
          ({ convertible }) =>
            which.convertible === undefined ||
            which.convertible === convertible,
        )
        .map(({ ref, version }) => [ref, version]),
    );
  }

  /** The entities themselves that can be carried over. */
  entities(): Entity[] {
    return this.sources
      .flatMap(source => source.drafts())
      .filter(({ convertible }) => convertible)
      .map(({ entity }) => entity);
  }

  /** Waits until the engine has done all it has to do. */
  async settled(): Promise<void> {
    const { database, engine } = this.catalog;
    const expected = JSON.stringify(sorted(this.expected()));
    await this.catalog.until('the engine to catch up', async () => {
      await engine.deleteOrphans();
      // What the engine could not stitch, it tries again after a minute. It locks these
      // rows in no order: what it is at is left for the next look.
      await database.query(
        `update public.stitch_queue set next_stitch_at = now()
          where entity_ref in (
                select entity_ref from public.stitch_queue
                 where next_stitch_at between now() and now() + interval '58 seconds'
                   for update skip locked)`,
      );
      const [{ shown, busy }] = await database.query<{
        shown: Record<string, number>;
        busy: boolean;
      }>(
        `select (select json_object_agg(r.entity_ref, v)
                   from public.final_entities r,
                        substring(final_entity from '"version":(\\d+)') v
                  where r.entity_ref not like 'location:%') as shown,
                exists (select from public.stitch_queue)
                or exists (select from public.refresh_state
                            where next_update_at <= now()) as busy`,
      );
      return (
        !busy &&
        JSON.stringify(
          sorted(
            Object.fromEntries(
              Object.entries(shown ?? {}).map(([ref, v]) => [ref, Number(v)]),
            ),
          ),
        ) === expected
      );
    });
  }

  private async loop(source: Source): Promise<void> {
    while (this.acting) {
      await source.act();
      const { name } = source;
      this.acts.set(name, (this.acts.get(name) ?? 0) + 1);
      await delay(this.random.below(this.sizes.pauseMs));
    }
  }
}

function sorted(object: Record<string, number>): [string, number][] {
  return Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1));
}
