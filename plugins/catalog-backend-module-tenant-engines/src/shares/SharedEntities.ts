import type { LoggerService } from '@backstage/backend-plugin-api';
import { type Entity, stringifyEntityRef } from '@backstage/catalog-model';
import { toError } from '@backstage/errors';
import {
  type ActiveShare,
  type CatalogStore,
  type TenantDatabase,
  type TenantMutation,
  type TenantShareStore,
} from 'backstage-plugin-catalog-tenancy-node';
import { setImmediate, setTimeout as delay } from 'node:timers/promises';
import createLimit from 'p-limit';
import { stampOf } from '../code/stamp';
import { copyOf, isShareable, SHARES_SOURCE } from './copies';
import { type GivenCopy, readGiven, readOwners } from './readGiven';
import type {
  CopiesNote,
  EngineStatusStore,
} from '../status/EngineStatusStore';
import type { EnginePool } from '../work/EnginePool';

/** Pauses, in milliseconds. */
export interface ShareTiming {
  /**
   * The pause between two checks of the sources, whose changes are passed on together; 5,000 by
   * default.
   */
  lookMs: number;
  /** The pause between two checks of a receiving tenant's own entities; 60,000 by default. */
  ownMs: number;
  /** How long a round waits for a tenant, such as one with locked tables; 2,000 by default. */
  patienceMs: number;
}

const SHARE_TIMING: ShareTiming = {
  lookMs: 5_000,
  ownMs: 60_000,
  patienceMs: 2_000,
};

/** Of one share: each process that does the work of a receiving tenant has them in memory. */
const MOST_ENTITIES = 10_000;
/** Receiving tenants that this process feeds at a time. */
const FEEDS = 2;
/** Turns at a time, with those of such tenants: each may wait with a session of the engines. */
const MOST_TURNS = 8;
/** Turns that wait for an engine to start, beside those: each keeps in memory what it will pass on. */
const MOST_STARTS = 8;
const STOP_MS = 2_000;
/** A look reads all rows of a source: large ones are looked at for this part of the time. */
const LOOKING = 0.02;
const LONGEST_PAUSE_MS = 60_000;
const COPIES_PER_SLICE = 100;

interface SharedEntitiesOptions {
  /** Since when an engine of this process sleeps, by the clock of `performance`, if it does. */
  asleepSince: (tenantId: string) => number | undefined;
  catalog: Pick<CatalogStore, 'queryEntities'>;
  status: Pick<EngineStatusStore, 'readCopies' | 'writeCopies'>;
  database: Pick<TenantDatabase, 'query'>;
  engines: {
    isRunning(tenantId: string): boolean;
    /** Resolves when it runs. */
    start(tenantId: string): Promise<unknown>;
    apply(tenantId: string, mutation: TenantMutation): Promise<void>;
  };
  logger: LoggerService;
  pool: Pick<EnginePool, 'query'>;
  /** The tenants with an engine whose background work this process does. */
  receivers: () => string[];
  shares: Pick<TenantShareStore, 'listActive'>;
  timing?: Partial<ShareTiming>;
}

/** The entities of one share, as its source has them. */
interface Shared {
  /** Changes with the share, and with any row of the source. */
  version: string;
  entities: Map<string, Entity>;
}

/** The copies for a receiving tenant, before those with a ref of its own entities are left out. */
interface Offer {
  /** Changes with each of its shares. */
  version: string;
  refs: string[];
  /** Makes the copies at the first call. */
  content: () => Promise<OfferContent>;
}

interface OfferContent {
  copies: Map<string, { shareId: string; entity: Entity; stamp: string }>;
  /** Refs of which a share before has the entity already, by share. */
  doubles: Map<string, number>;
}

/** The shares of a receiving tenant beside those of an {@link Offer}. */
interface OtherShares {
  /** Of which it may have copies, ended ones among them. */
  noted: string[];
  /** Those that this process has never read, since their source can't be read: their copies stay. */
  unread: string[];
}

/** What this process last passed to a receiving tenant. */
interface Given {
  version: string;
  lookedAt: number;
  /** The refs of which the tenant had its own entities. */
  own: ReadonlySet<string>;
}

/**
 * Brings the entities that tenants share to those that receive them: each process for the
 * tenants whose background work it does.
 *
 * A source is read in its own context, and a copy is written by the engine of the receiving
 * tenant: no statement has two tenants. Which copies a tenant has is noted before it gets the
 * first one, so that another process finds what a share that has ended left behind.
 */
export class SharedEntities {
  readonly #options: SharedEntitiesOptions;
  readonly #timing: ShareTiming;
  readonly #stopping = new AbortController();
  readonly #shared = new Map<string, Shared>();
  /** Of each source, so that all of its shares keep an entity once. */
  readonly #sources = new Map<
    string,
    { version: string; entities: Map<string, Entity>; nextLookAt: number }
  >();
  readonly #given = new Map<string, Given>();
  /** Turns of tenants that have not ended, also those that a round has waited for no longer. */
  readonly #underWay = new Set<string>();
  /** Those of them that wait for an engine to start. */
  readonly #starting = new Set<string>();
  #hurried = new AbortController();
  #loop: Promise<void> = Promise.resolve();

  static start(options: SharedEntitiesOptions): SharedEntities {
    const entities = new SharedEntities(options);
    entities.#loop = entities.#run();
    return entities;
  }

  private constructor(options: SharedEntitiesOptions) {
    this.#options = options;
    this.#timing = { ...SHARE_TIMING, ...options.timing };
  }

  /** Checks at once, after a change of a share or a tenant. */
  hurry(): void {
    this.#hurried.abort();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#hurried.abort();
    // What waits for an engine can do no harm: it writes whole changes.
    await Promise.race([this.#loop, delay(STOP_MS, undefined, { ref: false })]);
  }

  async #run(): Promise<void> {
    const { logger } = this.#options;
    while (!this.#stopping.signal.aborted) {
      this.#hurried = new AbortController();
      try {
        await this.#look();
      } catch (error) {
        logger.warn(
          `The shares of tenants can't be carried out at the moment, and are tried again: ${
            toError(error).message
          }`,
        );
      }
      await delay(this.#timing.lookMs, undefined, {
        signal: this.#hurried.signal,
        ref: false,
      }).catch(() => undefined);
    }
  }

  async #look(): Promise<void> {
    const { logger, receivers, shares, status } = this.#options;
    const active = await shares.listActive();
    const noted = await status.readCopies();
    if (active.length === 0 && noted.size === 0) {
      return;
    }
    const held = receivers();
    // Another one is the first each time, since the first ones may take all turns.
    held.push(...held.splice(0, Math.random() * held.length));
    const byReceiver = new Map(
      held.map(id => [id, active.filter(share => isFor(share, id))]),
    );
    for (const id of this.#given.keys()) {
      if (!byReceiver.has(id)) {
        this.#given.delete(id);
      }
    }
    await this.#readSources([...new Set([...byReceiver.values()].flat())]);
    const offers = new Map<string, Offer>();
    const limit = createLimit(FEEDS);
    await Promise.all(
      [...byReceiver].map(([receiver, some]) =>
        limit(async () => {
          const before = noted.get(receiver) ?? [];
          if (
            some.length + before.length > 0 &&
            !this.#stopping.signal.aborted
          ) {
            const known = some.filter(({ shareId }) =>
              this.#shared.has(shareId),
            );
            const offer = this.#offer(known, offers);
            const unread = some
              .filter(share => !known.includes(share))
              .map(({ shareId }) => shareId);
            await this.#patiently(receiver, () =>
              // The others get theirs.
              this.#feed(receiver, offer, { noted: before, unread }).catch(
                error => {
                  this.#given.delete(receiver);
                  logger.debug(
                    `What tenant ${receiver} receives is tried again: ${
                      toError(error).message
                    }`,
                  );
                },
              ),
            );
          }
        }),
      ),
    );
  }

  /** Waits for the turn of a tenant as long as it delays the others little. */
  async #patiently(name: string, turn: () => Promise<void>): Promise<void> {
    if (
      this.#underWay.has(name) ||
      this.#underWay.size - this.#starting.size >= MOST_TURNS
    ) {
      return;
    }
    this.#underWay.add(name);
    const over = new AbortController();
    const ended = turn().finally(() => {
      this.#underWay.delete(name);
      over.abort();
    });
    await Promise.race([
      ended,
      delay(this.#timing.patienceMs, undefined, {
        ref: false,
        signal: over.signal,
      }).catch(() => undefined),
    ]);
  }

  /** Reads the entities of shares that have changed, or whose source has. */
  async #readSources(shares: ActiveShare[]): Promise<void> {
    for (const shareId of this.#shared.keys()) {
      if (!shares.some(share => share.shareId === shareId)) {
        this.#shared.delete(shareId);
      }
    }
    const bySource = new Map<string, ActiveShare[]>();
    for (const share of shares) {
      const { tenantId } = share.source;
      bySource.set(tenantId, [...(bySource.get(tenantId) ?? []), share]);
    }
    for (const tenantId of this.#sources.keys()) {
      if (!bySource.has(tenantId)) {
        this.#sources.delete(tenantId);
      }
    }
    for (const [tenantId, some] of bySource) {
      await this.#patiently(`source ${tenantId}`, () =>
        // Its receivers keep their copies, and get those of others.
        this.#readSource(tenantId, some).catch(error => {
          this.#options.logger.debug(
            `What tenant ${tenantId} shares is read again: ${
              toError(error).message
            }`,
          );
        }),
      );
    }
  }

  async #readSource(tenantId: string, shares: ActiveShare[]): Promise<void> {
    const source = await this.#lookAt(tenantId);
    const { version } = source;
    for (const share of shares) {
      const wanted = `${share.version} ${version}`;
      if (this.#shared.get(share.shareId)?.version !== wanted) {
        this.#shared.set(share.shareId, {
          version: wanted,
          entities: await this.#entitiesOf(share, source.entities),
        });
      }
    }
  }

  async #lookAt(tenantId: string) {
    const known = this.#sources.get(tenantId);
    const begunAt = performance.now();
    if (known && begunAt < known.nextLookAt) {
      return known;
    }
    const version = await this.#versionOf(tenantId);
    const now = performance.now();
    const source = {
      version,
      entities:
        known?.version === version ? known.entities : new Map<string, Entity>(),
      nextLookAt: now + Math.min((now - begunAt) / LOOKING, LONGEST_PAUSE_MS),
    };
    this.#sources.set(tenantId, source);
    return source;
  }

  /** Changes with each change of a live entity, in any order of commits. */
  async #versionOf(tenantId: string): Promise<string> {
    const [{ version }] = await this.#options.database.query<{
      version: string;
    }>(tenantId, scope =>
      scope
        .table('entities')
        .whereNull('deleted_at')
        .select(
          scope.knex.raw(
            `concat_ws(' ', count(*), sum(hashtextextended(concat_ws(' ', tableoid, ctid, xmin), 0))) as version`,
          ),
        ),
    );
    return version;
  }

  /** @param known - entities of the source, to which those of the share are added */
  async #entitiesOf(
    share: ActiveShare,
    known: Map<string, Entity>,
  ): Promise<Map<string, Entity>> {
    const { catalog, logger } = this.#options;
    const { tenantId, tenantSlug } = share.source;
    const found = await catalog.queryEntities(tenantId, {
      filter: share.filter,
      limit: MOST_ENTITIES + 1,
    });
    if (found.length > MOST_ENTITIES) {
      logger.warn(
        `A share of the tenant '${tenantSlug}' has more than ${MOST_ENTITIES} entities, of which it shares the first ones by name: divide it into several`,
      );
    }
    const entities = new Map<string, Entity>();
    for (const entity of found.slice(0, MOST_ENTITIES).filter(isShareable)) {
      const ref = stringifyEntityRef(entity);
      const kept = known.get(ref) ?? entity;
      known.set(ref, kept);
      entities.set(ref, kept);
    }
    return entities;
  }

  /** The same for all tenants with the same shares. */
  #offer(shares: ActiveShare[], offers: Map<string, Offer>): Offer {
    const known = shares.map(share => ({
      share,
      shared: this.#shared.get(share.shareId)!,
    }));
    const version = known.map(({ shared }) => shared.version).join('\n');
    const found = offers.get(version);
    if (found) {
      return found;
    }
    let content: Promise<OfferContent> | undefined;
    const offer = {
      version,
      refs: [
        ...new Set(known.flatMap(({ shared }) => [...shared.entities.keys()])),
      ],
      content: () => {
        content ??= contentOf(known);
        return content;
      },
    };
    offers.set(version, offer);
    return offer;
  }

  async #feed(
    receiver: string,
    offer: Offer,
    { noted, unread }: OtherShares,
  ): Promise<void> {
    const version = [offer.version, ...unread].join('\n');
    const now = performance.now();
    const last = this.#given.get(receiver);
    if (
      last?.version === version &&
      (!this.#mayHaveOwn(receiver, last) ||
        (await this.#hasStill(receiver, offer.refs, last)))
    ) {
      return;
    }
    const { engines, pool, status } = this.#options;
    if (this.#starting.size >= MOST_STARTS && !engines.isRunning(receiver)) {
      return;
    }
    // Left out of the map, and so forgotten, if the tenant's work is given up meanwhile.
    const feeding: Given = { version: '', lookedAt: -Infinity, own: new Set() };
    this.#given.set(receiver, feeding);
    const content = await offer.content();
    const owners = await readOwners(pool, receiver, offer.refs);
    const own = ownOf(owners);
    feeding.own = ownOf(owners);
    // Not from memory: another process may have had the lease meanwhile, and tables of an engine
    // that are gone are made anew.
    const given = await readGiven(pool, receiver);
    for (const [ref, { shareId }] of given) {
      if (unread.includes(shareId)) {
        given.delete(ref);
        own.add(ref);
      }
    }
    const copies = new Map(
      [...content.copies].filter(([ref]) => !own.has(ref)),
    );
    const notes = [...content.doubles].map(([shareId, doubles]) =>
      noteOf(shareId, doubles, content, own),
    );
    // Before the first copy: if the share ends while no process checks, its note is found
    // later.
    await status.writeCopies(receiver, notes, { keep: noted });
    const mutation = toMutation(copies, given);
    if (mutation) {
      this.#starting.add(receiver);
      await engines
        .start(receiver)
        .finally(() => this.#starting.delete(receiver));
      await engines.apply(receiver, mutation);
    }
    // The copies of ended shares are deleted, so their notes are too.
    await status.writeCopies(receiver, notes, { keep: unread });
    Object.assign(feeding, { version, lookedAt: now });
  }

  /** Whether a tenant may have got entities of its own since the last look at them. */
  #mayHaveOwn(receiver: string, { lookedAt }: Given): boolean {
    const asleepSince = this.#options.asleepSince(receiver) ?? Infinity;
    return (
      performance.now() - lookedAt >= this.#timing.ownMs &&
      lookedAt < asleepSince
    );
  }

  /** Whether it has the same as then, by the refs alone: to compare the copies takes far longer. */
  async #hasStill(
    receiver: string,
    refs: string[],
    last: Given,
  ): Promise<boolean> {
    const now = performance.now();
    const owners = await readOwners(this.#options.pool, receiver, refs);
    const isSame = refs.every(
      ref =>
        owners.has(ref) && (owners.get(ref) === 'other') === last.own.has(ref),
    );
    if (isSame) {
      last.lookedAt = now;
    }
    return isSame;
  }
}

function isFor({ source, targetIds }: ActiveShare, receiver: string): boolean {
  return (
    source.tenantId !== receiver &&
    (targetIds === null || targetIds.includes(receiver))
  );
}

/** Makes the copies, in slices of the thread. */
async function contentOf(
  known: { share: ActiveShare; shared: Shared }[],
): Promise<OfferContent> {
  const first = new Map<string, { share: ActiveShare; entity: Entity }>();
  const doubles = new Map(known.map(({ share }) => [share.shareId, 0]));
  for (const { share, shared } of known) {
    await setImmediate();
    for (const [ref, entity] of shared.entities) {
      if (first.has(ref)) {
        doubles.set(share.shareId, doubles.get(share.shareId)! + 1);
      } else {
        first.set(ref, { share, entity });
      }
    }
  }
  const copies: OfferContent['copies'] = new Map();
  for (const [ref, { share, entity: original }] of first) {
    if (copies.size % COPIES_PER_SLICE === 0) {
      await setImmediate();
    }
    const entity = copyOf(
      original,
      {
        shareId: share.shareId,
        sharedFrom: share.source.tenantSlug,
        owner: share.owner,
      },
      other => first.has(other),
    );
    copies.set(ref, { shareId: share.shareId, entity, stamp: stampOf(entity) });
  }
  return { copies, doubles };
}

function noteOf(
  shareId: string,
  doubles: number,
  content: OfferContent,
  own: Set<string>,
): CopiesNote {
  const refs = [...content.copies]
    .filter(([, copy]) => copy.shareId === shareId)
    .map(([ref]) => ref);
  const conflicts = refs.filter(ref => own.has(ref)).length;
  return {
    shareId,
    copies: refs.length - conflicts,
    conflicts: conflicts + doubles,
  };
}

function ownOf(owners: Map<string, 'own' | 'other'>): Set<string> {
  return new Set(
    [...owners].flatMap(([ref, owner]) => (owner === 'other' ? [ref] : [])),
  );
}

/** What has changed, if anything. */
function toMutation(
  copies: OfferContent['copies'],
  given: Map<string, GivenCopy>,
): TenantMutation | undefined {
  const added = [...copies].filter(
    ([ref, { stamp }]) => given.get(ref)?.stamp !== stamp,
  );
  const removed = [...given.keys()].filter(ref => !copies.has(ref));
  return added.length + removed.length > 0
    ? {
        source: SHARES_SOURCE,
        type: 'delta',
        // Without a location key, whatever the tenant itself has takes the name over.
        added: added.map(([, { entity }]) => ({ entity })),
        removed: removed.map(entityRef => ({ entityRef })),
      }
    : undefined;
}
