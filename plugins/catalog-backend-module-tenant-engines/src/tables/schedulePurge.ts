import type {
  LoggerService,
  SchedulerService,
} from '@backstage/backend-plugin-api';
import type {
  Tenant,
  TenantStore,
} from 'backstage-plugin-catalog-tenancy-node';
import { describeFailure } from '../engine/failures';

const DAY_MS = 86_400_000;
const PAGE = 500;

/**
 * Has the tables of engines, or of instances of another plugin, removed for good whose tenants were deleted more than their
 * `entity_ttl_days` ago: with the purge of deleted entities, once a day, by one of the
 * backends. A tenant that is restored later gets empty tables.
 */
export async function schedulePurge(options: {
  logger: LoggerService;
  scheduler: SchedulerService;
  tables: {
    list(): Promise<{ tenantId: string }[]>;
    /** @param check - is called at the end, and keeps them where it throws */
    drop(tenantId: string, check: () => Promise<void>): Promise<void>;
  };
  /** The name of the tables in messages; those of the engine by default. */
  name?: string;
  /** Unique among the tasks that purge tables. */
  taskId?: string;
  tenants: Pick<TenantStore, 'get' | 'list'>;
}): Promise<void> {
  await options.scheduler.scheduleTask({
    frequency: { days: 1 },
    timeout: { hours: 1 },
    initialDelay: { minutes: 10 },
    id: options.taskId ?? 'tenancy-purge-engine-tables',
    scope: 'global',
    fn: signal => purgeTables(options, signal),
  });
}

/** The tenant was restored, or is gone. */
class RestoredError extends Error {}

async function purgeTables(
  {
    logger,
    name = 'engine',
    tables,
    tenants,
  }: Parameters<typeof schedulePurge>[0],
  signal: AbortSignal,
): Promise<void> {
  const found = await tables.list();
  if (found.length === 0) {
    return;
  }
  const overdue = await overdueTenants(tenants);
  for (const { tenantId } of found) {
    const slug = overdue.get(tenantId);
    if (!slug || signal.aborted) {
      continue;
    }
    // Others took their time, and so do the locks of these.
    const refuseRestored = async () => {
      const tenant = await tenants.get(slug);
      if (!tenant || !isOverdue(tenant)) {
        throw new RestoredError();
      }
    };
    try {
      await refuseRestored();
      await tables.drop(tenantId, refuseRestored);
    } catch (error) {
      if (!(error instanceof RestoredError)) {
        // Such as locks of others. The tables of other tenants do not wait for that.
        logger.warn(
          `The tables of the ${name} of the tenant '${slug}' can't be removed, which is tried again in a day: ${describeFailure(
            error,
          )}`,
        );
      }
      continue;
    }
    logger.info(
      `Removed the tables of the ${name} of the tenant '${slug}', which was deleted longer ago than its entity_ttl_days`,
    );
  }
}

/** The slugs of the tenants whose time is over, by their ids. */
async function overdueTenants(
  tenants: Pick<TenantStore, 'list'>,
): Promise<Map<string, string>> {
  const overdue = new Map<string, string>();
  for (let offset = 0, total = 1; offset < total; offset += PAGE) {
    const { items, totalItems } = await tenants.list({
      deleted: true,
      limit: PAGE,
      offset,
    });
    total = totalItems;
    items.filter(isOverdue).forEach(({ tenant_id, tenant_slug }) => {
      overdue.set(tenant_id, tenant_slug);
    });
  }
  return overdue;
}

/** A tenant whose deleted entities are kept for ever keeps its engine's tables too. */
function isOverdue({ deleted_at, entity_ttl_days }: Tenant): boolean {
  return (
    deleted_at !== null &&
    entity_ttl_days !== null &&
    new Date(deleted_at).getTime() + entity_ttl_days * DAY_MS < Date.now()
  );
}
