import type { SchedulerServiceTaskScheduleDefinitionConfig } from '@backstage/backend-plugin-api';

export interface Config {
  tenancy?: {
    purge?: {
      /**
       * When deleted entities are removed for good that were deleted longer ago than
       * their tenant's `entity_ttl_days`; once a day by default.
       */
      schedule?: SchedulerServiceTaskScheduleDefinitionConfig;
    };
  };
}
