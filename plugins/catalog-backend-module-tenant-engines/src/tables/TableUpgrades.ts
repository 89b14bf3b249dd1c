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
    const { tenantId, tenantSlug } = tenant;
    await this.#upgrades.run(tenantId, signal, () =>
      this.#tables.upgrade(tenantId, { patienceMs: PATIENCE_MS, signal }),
    );
    this.#logger.info(`Upgraded the catalog tables of '${tenantSlug}'`);
  }
}
