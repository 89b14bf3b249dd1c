import {
  coreServices,
  createServiceFactory,
  createServiceRef,
} from '@backstage/backend-plugin-api';
import { type AdminDatabase, AuditedAdminDatabase } from '../database';
import { tenancyServiceRef } from './tenancyServiceRef';

/**
 * The administrator's path, with audit events in the name of the plugin that takes
 * it.
 *
 * @public
 */
export const adminDatabaseServiceRef = createServiceRef<AdminDatabase>({
  id: 'catalog-tenancy.admin-database',
  scope: 'plugin',
  defaultFactory: async service =>
    createServiceFactory({
      service,
      deps: { tenancy: tenancyServiceRef, auditor: coreServices.auditor },
      factory: ({ tenancy: { pool, replica }, auditor }) =>
        new AuditedAdminDatabase({ pool, auditor, replica }),
    }),
});
