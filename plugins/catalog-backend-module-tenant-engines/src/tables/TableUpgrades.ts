import type { LoggerService } from '@backstage/backend-plugin-api';
import type { ActiveTenant } from 'backstage-plugin-catalog-tenancy-node';
import { StartQueue } from '../work/StartQueue';
import type { EngineTables, TenantTables } from './EngineTables';

/** How many tenants get their tables at the same time. */
const PROVISIONS = 4;

/**
 * How long one tenant's upgrade retries for locks that others hold, while other tenants wait.
 * Its engine then starts again after a pause, and so does the upgrade.
 */
const PATIENCE_MS = 10_000;

interface TableUpgradesOptions {
  logger: LoggerService;
  tables: Pick<EngineTables, 'list' | 'provision' | 'upgrade'>;
}

/** One read of the versions of some tenants. */
interface Look {
  tenantIds: Set<string>;
  versions: Promise<Map<string, TenantTables['version']>>;
}

/**
 * Creates the tables of new tenants, and upgrades those of an earlier release one tenant at a
 * time, before their engines start. A tenant for which a request waits comes first. Hundreds of
 * engines may start at once, so one statement reads the versions of all tenants that were added
 * during the statement before it.
 */
export class TableUpgrades {
  readonly #logger: LoggerService;
  readonly #tables: TableUpgradesOptions['tables'];
  readonly #provisions = new StartQueue(PROVISIONS);
  readonly #upgrades = new StartQueue(1);
  #next?: Look;
  #last: Promise<unknown> = Promise.resolve();

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
    signal.throwIfAborted();
    const version = await this.#versionOf(tenantId);
    signal.throwIfAborted();
    if (version === 'current') {
      return;
    }
    if (version === 'newer') {
      // Throws, with what to do.
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

  /** Puts a tenant first, because a request waits for it. */
  hurry(tenantId: string): void {
    this.#provisions.hurry(tenantId);
    this.#upgrades.hurry(tenantId);
  }

  /** The version of a tenant's tables; undefined where there are none. */
  async #versionOf(
    tenantId: string,
  ): Promise<TenantTables['version'] | undefined> {
    this.#next ??= this.#lookNext();
    const { tenantIds, versions } = this.#next;
    tenantIds.add(tenantId);
    return (await versions).get(tenantId);
  }

  #lookNext(): Look {
    const tenantIds = new Set<string>();
    const versions = this.#last
      .catch(() => undefined)
      .then(async () => {
        this.#next = undefined;
        const all = await this.#tables.list([...tenantIds]);
        return new Map(all.map(each => [each.tenantId, each.version]));
      });
    this.#last = versions;
    return { tenantIds, versions };
  }

  async #upgrade(tenant: ActiveTenant, signal: AbortSignal): Promise<void> {
    const { tenantId, tenantSlug } = tenant;
    await this.#upgrades.run(tenantId, signal, () =>
      this.#tables.upgrade(tenantId, { patienceMs: PATIENCE_MS, signal }),
    );
    this.#logger.info(`Upgraded the catalog tables of '${tenantSlug}'`);
  }
}
