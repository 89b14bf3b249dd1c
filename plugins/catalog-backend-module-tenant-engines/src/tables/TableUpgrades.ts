import type { LoggerService } from '@backstage/backend-plugin-api';
import type { ActiveTenant } from 'backstage-plugin-catalog-tenancy-node';
import { StartQueue } from '../work/StartQueue';
import type { EngineTables } from './EngineTables';

/** How many tenants are looked at, and get their tables, at the same time. */
const PROVISIONS = 4;

/**
 * How long one tenant's tables are tried for, if others hold locks on them, while other tenants
 * wait. Its engine then starts again after a pause, and this with it.
 */
const PATIENCE_MS = 10_000;

interface TableUpgradesOptions {
  logger: LoggerService;
  tables: Pick<EngineTables, 'provision' | 'upgrade'>;
}

/**
 * Creates the tables of new tenants, and upgrades those of an earlier release one tenant at a
 * time, before their engines start. A tenant for which a request waits comes first.
 */
export class TableUpgrades {
  readonly #logger: LoggerService;
  readonly #tables: TableUpgradesOptions['tables'];
  readonly #provisions = new StartQueue(PROVISIONS);
  readonly #upgrades = new StartQueue(1);

  constructor({ logger, tables }: TableUpgradesOptions) {
    this.#logger = logger;
    this.#tables = tables;
  }

  /**
   * Resolves when the tenant has tables of this release.
   *
   * @throws the reason for which it can't have them, such as a migration that fails or tables
   * of a newer release; or the reason of the signal
   */
  async ready(tenant: ActiveTenant, signal: AbortSignal): Promise<void> {
    const { tenantId } = tenant;
    const found = await this.#provisions.run(tenantId, signal, () =>
      this.#tables.provision(tenantId, { patienceMs: PATIENCE_MS, signal }),
    );
    if (found === 'newer') {
      // Throws, with what to do.
      await this.#tables.upgrade(tenantId, { signal });
    } else if (found === 'older') {
      await this.#upgrade(tenant, signal);
    }
  }

  /** Puts a tenant first, because a request waits for it. */
  hurry(tenantId: string): void {
    this.#provisions.hurry(tenantId);
    this.#upgrades.hurry(tenantId);
  }

  async #upgrade(tenant: ActiveTenant, signal: AbortSignal): Promise<void> {
    const { tenantId, tenantSlug } = tenant;
    await this.#upgrades.run(tenantId, signal, () =>
      this.#tables.upgrade(tenantId, { patienceMs: PATIENCE_MS, signal }),
    );
    this.#logger.info(`Upgraded the catalog tables of '${tenantSlug}'`);
  }
}
