import type {
  LoggerService,
  SchedulerService,
} from '@backstage/backend-plugin-api';
import type { TenantAuditTrail } from 'backstage-plugin-catalog-tenancy-node';

/** Sends the events of audit trails to the webhook, in one of the backends. */
export async function scheduleSending(options: {
  logger: LoggerService;
  scheduler: SchedulerService;
  trail: Pick<TenantAuditTrail, 'send'>;
}): Promise<void> {
  const { logger, scheduler, trail } = options;
  await scheduler.scheduleTask({
    id: 'tenancy-send-audit-events',
    scope: 'global',
    frequency: { seconds: 10 },
    timeout: { minutes: 10 },
    fn: async signal => {
      try {
        await trail.send(signal);
      } catch (error) {
        logger.warn(
          `Events of audit trails could not be sent and are kept for the next attempt: ${error}`,
        );
      }
    },
  });
}
