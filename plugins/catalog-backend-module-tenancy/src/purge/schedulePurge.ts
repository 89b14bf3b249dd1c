import type {
  LoggerService,
  SchedulerService,
} from '@backstage/backend-plugin-api';
import {
  AdminAccessError,
  type AdminDatabase,
  purgeDeletedEntities,
  type TenantAuditTrail,
} from 'backstage-plugin-catalog-tenancy-node';

/**
 * Once a day, in one of the backends, removes entities that were deleted more than their
 * tenant's `entity_ttl_days` ago, and old events of audit trails.
 */
export async function schedulePurge(options: {
  admin: AdminDatabase;
  logger: LoggerService;
  scheduler: SchedulerService;
  trail: Pick<TenantAuditTrail, 'deleteOld'>;
}): Promise<void> {
  await options.scheduler.scheduleTask({
    frequency: { days: 1 },
    timeout: { hours: 1 },
    initialDelay: { minutes: 10 },
    id: 'tenancy-purge-deleted-entities',
    scope: 'global',
    fn: signal => purge(options, signal),
  });
}

async function purge(
  {
    admin,
    logger,
    trail,
  }: {
    admin: AdminDatabase;
    logger: LoggerService;
    trail: Pick<TenantAuditTrail, 'deleteOld'>;
  },
  signal: AbortSignal,
): Promise<void> {
  try {
    const old = await trail.deleteOld(signal);
    if (old > 0) {
      logger.info(`Deleted ${old} old events of audit trails`);
    }
    for (const tenant of await purgeDeletedEntities(admin, { signal })) {
      const { error, purged, tenant_slug: slug } = tenant;
      logger.info(`Purged ${purged} deleted entities of the tenant '${slug}'`);
      if (error) {
        logger.warn(
          `Deleted entities of the tenant '${slug}' stay until the next purge: ${error}`,
        );
      }
    }
  } catch (error) {
    if (!(error instanceof AdminAccessError)) {
      throw error;
    }
    logger.warn(
      `Deleted entities and old events of audit trails are not purged: the database user is not a member of portal_admin (${error.message})`,
    );
  }
}
