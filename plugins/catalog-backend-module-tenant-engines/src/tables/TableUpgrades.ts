import type { LoggerService } from '@backstage/backend-plugin-api';
import type { ActiveTenant } from 'backstage-plugin-catalog-tenancy-node';
import { StartQueue } from '../work/StartQueue';
import type { EngineTables, TenantTables } from './EngineTables';

/** How many tenants get their tables at the same time. */
const PROVISIONS = 4;

/** How long a look at the versions of all tenants is trusted. */
const SURVEY_MS = 5_000;

/**
 * For how long one tenant's upgrade tries for what others have locked, while other tenants
 * wait for their turn. Its engine then starts again after a pause, and so does the upgrade.
 */
const PATIENCE_MS = 10_000;

const PROGRESS_AFTER_MS = 2_000;

interface TableUpgradesOptions {
  logger: LoggerService;
  tables: Pick<EngineTables, 'list' | 'provision' | 'upgrade'>;
}

interface Survey {
  readAt: number;
  /** Tenants that have had their answer: with the next, their tables may be others. */
  asked: Set<string>;
  versions: Promise<Map<string, TenantTables['version']>>;
}

/** Counts upgrades from the first that waits until none does, and reports what takes long. */
class UpgradeRun {
  readonly #logger: LoggerService;
  readonly #onEnd: () => void;
  readonly #startedAt = performance.now();
  readonly #timer: NodeJS.Timeout;
  readonly #failed = new Set<string>();
  readonly #tenants = new Set<string>();
  readonly #done = new Set<string>();
  #underWay = 0;

  constructor(logger: LoggerService, onEnd: () => void) {
    this.#logger = logger;
    this.#onEnd = onEnd;
    this.#timer = setInterval(
      () => logger.info(`${this.#upgraded()}${this.#failures()}`),
      PROGRESS_AFTER_MS,
    );
    this.#timer.unref();
  }

  async count(
    { tenantSlug }: ActiveTenant,
    upgrade: () => Promise<void>,
  ): Promise<void> {
    this.#underWay += 1;
    this.#tenants.add(tenantSlug);
    try {
      await upgrade();
      this.#failed.delete(tenantSlug);
      this.#done.add(tenantSlug);
    } catch (error) {
      this.#failed.add(tenantSlug);
      throw error;
    } finally {
      this.#underWay -= 1;
      if (this.#underWay === 0) {
        this.#end();
      }
    }
  }

  #end(): void {
    clearInterval(this.#timer);
    this.#onEnd();
    const passedMs = performance.now() - this.#startedAt;
    if (this.#tenants.size > 1 || passedMs >= PROGRESS_AFTER_MS) {
      this.#logger.info(
        `${this.#upgraded()} in ${(passedMs / 1000).toFixed(
          1,
        )} s${this.#failures()}`,
      );
    }
  }

  #upgraded(): string {
    return `Upgraded ${this.#done.size} of ${
      this.#tenants.size
    } tenants' catalog tables`;
  }

  /** Each is reported with its reason as the engine's failure. */
  #failures(): string {
    const slugs = [...this.#failed];
    return slugs.length === 0
      ? ''
      : `; ${slugs.length} failed: ${slugs.slice(0, 10).join(', ')}${
          slugs.length > 10 ? ' …' : ''
        }`;
  }
}

/**
 * Makes the tables of new tenants, and upgrades those of an earlier release one tenant at a
 * time, before their engines start. A tenant for which a request waits comes first. The
 * versions of all tenants are read at once, since hundreds of engines start with the backend.
 */
export class TableUpgrades {
  readonly #logger: LoggerService;
  readonly #tables: TableUpgradesOptions['tables'];
  readonly #provisions = new StartQueue(PROVISIONS);
  readonly #upgrades = new StartQueue(1);
  #survey?: Survey;
  #run?: UpgradeRun;

  constructor({ logger, tables }: TableUpgradesOptions) {
    this.#logger = logger;
    this.#tables = tables;
  }

  /**
   * Resolves when the tenant has tables of this release.
   *
   * @throws what keeps it from them, such as a migration that fails or tables of a newer
   *   release; and the reason of the signal
   */
  async ready(tenant: ActiveTenant, signal: AbortSignal): Promise<void> {
    const { tenantId } = tenant;
    signal.throwIfAborted();
    const version = await this.#versionOf(tenantId);
    signal.throwIfAborted();
    if (version === 'current') {
      return;
    }
    if (version === 'newer') {
      // Refuses them, and says what to do.
      await this.#tables.upgrade(tenantId, { signal });
      return;
    }
    if (version === undefined) {
      const outcome = await this.#provisions.run(tenantId, signal, () =>
        this.#tables.provision(tenantId),
      );
      if (outcome === 'created') {
        return;
      }
    }
    await this.#upgrade(tenant, signal);
  }

  /** A request waits for this tenant. */
  hurry(tenantId: string): void {
    this.#provisions.hurry(tenantId);
    this.#upgrades.hurry(tenantId);
  }

  /**
   * The version of a tenant's tables; undefined where there are none. The engine of a tenant
   * that asks again has failed or was stopped since.
   */
  async #versionOf(
    tenantId: string,
  ): Promise<TenantTables['version'] | undefined> {
    const now = performance.now();
    if (
      !this.#survey ||
      this.#survey.asked.has(tenantId) ||
      now - this.#survey.readAt > SURVEY_MS
    ) {
      this.#survey = {
        readAt: now,
        asked: new Set(),
        versions: this.#tables
          .list()
          .then(
            all =>
              new Map(all.map(({ tenantId: id, version }) => [id, version])),
          ),
      };
    }
    this.#survey.asked.add(tenantId);
    return (await this.#survey.versions).get(tenantId);
  }

  async #upgrade(tenant: ActiveTenant, signal: AbortSignal): Promise<void> {
    this.#run ??= new UpgradeRun(this.#logger, () => {
      this.#run = undefined;
    });
    await this.#run.count(tenant, () =>
      this.#upgrades.run(tenant.tenantId, signal, () =>
        this.#tables.upgrade(tenant.tenantId, {
          patienceMs: PATIENCE_MS,
          signal,
        }),
      ),
    );
  }
}
