import { exposeHeaders } from '@internal/http';
import type { Router } from 'express';
import PromiseRouter from 'express-promise-router';
import { addFileRoutes } from './fileRoutes';
import { addMockupRoutes } from './mockupRoutes';
import { createOpenApiDocument } from '../openapi/createOpenApiDocument';
import type { Operations } from './operations';
import { retryAfter } from 'backstage-plugin-catalog-tenancy-node';
import { addPageRoutes } from './pageRoutes';
import type { ImportBounds } from './request/mockupFile';
import { addReviewRoutes } from './reviewRoutes';
import { addTrashRoutes } from './trashRoutes';
import { addVersionRoutes } from './versionRoutes';

/** The HTTP interface of the mockup plugin. */
export function createRouter(
  operations: Operations,
  options: { importBounds: ImportBounds },
): Router {
  const router = PromiseRouter();
  router.use(exposeHeaders);
  addMockupRoutes(router, operations);
  addVersionRoutes(router, operations);
  addFileRoutes(router, operations, options);
  addTrashRoutes(router, operations);
  addPageRoutes(router, operations);
  addReviewRoutes(router, operations);

  const openApiDocument = createOpenApiDocument();
  router.get('/openapi.json', (_req, res) => {
    res.json(openApiDocument);
  });
  router.use(retryAfter());
  return router;
}
