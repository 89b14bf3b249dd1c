import {
  mockCredentials,
  mockErrorHandler,
  mockServices,
} from '@backstage/backend-test-utils';
import { assignTenant } from 'backstage-plugin-catalog-tenancy-node';
import express from 'express';
import type { ReadableCatalogStore } from '../authorization/AuthorizedCatalogStore';
import { createRouter } from '../routes/createRouter';
import { createOperations } from '../routes/operations';

/** The routes of the catalog of one tenant, answered from a store. */
export function routesOf(
  store: ReadableCatalogStore,
  createEvent = async () => ({ async success() {}, async fail() {} }),
) {
  const operations = createOperations({
    adoption: { isComplete: true },
    auditor: mockServices.auditor.mock({ createEvent }),
    httpAuth: mockServices.httpAuth({
      defaultCredentials: mockCredentials.user(),
    }),
    authorize: () => store,
    gate: { stillAdmits: async () => true },
  });
  return express()
    .use((req, _res, next) => {
      assignTenant(req, { tenantId: 'id of acme', tenantSlug: 'acme' });
      next();
    })
    .use(createRouter(operations))
    .use(mockErrorHandler());
}
