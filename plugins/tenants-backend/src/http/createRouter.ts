import { createBodyReader, exposeHeaders, setLocation } from '@internal/http';
import { NotFoundError } from '@backstage/errors';
import {
  retryAfter,
  tenantCreatePermission,
  tenantDeletePermission,
  tenantReadPermission,
  tenantUpdatePermission,
} from 'backstage-plugin-catalog-tenancy-node';
import {
  createTenantSchema,
  listTenantsQuerySchema,
  updateTenantSchema,
} from 'backstage-plugin-tenants-common';
import type { Router } from 'express';
import PromiseRouter from 'express-promise-router';
import { createOpenApiDocument } from '../openapi/createOpenApiDocument';
import { administratorAccess } from './access';
import { sendPage } from './answers';
import { addAuditRoutes } from './auditRoutes';
import { bodyOf } from './body';
import { addEngineRoutes } from './engineRoutes';
import { addInvitationRoutes } from './invitationRoutes';
import { addMemberRoutes } from './memberRoutes';
import { addOwnTenantRoutes } from './ownTenantRoutes';
import { addSignInRoutes } from './signInRoutes';
import { parseNewId, parseQuery } from './query';
import type { RouterOptions } from './RouterOptions';
import { addShareRoutes } from './shareRoutes';
import { addUsageRoutes } from './usageRoutes';
import { listSummaries } from './summaries';

const LIMITS = { limit: 100 * 1024 };
const readBody = createBodyReader(LIMITS);
const slugSchema = createTenantSchema.shape.tenant_slug;
const readTenant = bodyOf(createTenantSchema, 'tenant', LIMITS);
const readChanges = bodyOf(updateTenantSchema, 'changes to a tenant', LIMITS);

/** The HTTP interface of the registry of tenants, their members and engines. */
export function createRouter(options: RouterOptions): Router {
  const { administrators, engines, operation, store } = options;
  const router = PromiseRouter();
  router.use(exposeHeaders);

  const may = administratorAccess(administrators);

  router.get('/openapi.json', (_req, res) => {
    res.json(createOpenApiDocument());
  });

  // Before the routes by slug, because `mine` is at the place of a slug.
  addOwnTenantRoutes(router, options);
  addInvitationRoutes(router, options);
  addMemberRoutes(router, options);
  addSignInRoutes(router, options);
  addEngineRoutes(router, options);
  addShareRoutes(router, options);
  addAuditRoutes(router, options);
  addUsageRoutes(router, options);

  router.get(
    '/',
    operation('list-tenants', may(tenantReadPermission), async (req, res) => {
      const { summary, ...query } = parseQuery(listTenantsQuerySchema, req);
      sendPage(
        req,
        res,
        summary ? await listSummaries(query, options) : await store.list(query),
        query,
      );
    }),
  );

  router.post(
    '/',
    operation(
      'create-tenant',
      may(tenantCreatePermission),
      async (req, res, { by }) => {
        const values = await readTenant(req, res);
        const newId = parseNewId(req, [values, by]);
        const tenant = await store.create(values, { newId });
        setLocation(req, res, tenant.tenant_slug);
        res.status(201).json({
          ...tenant,
          ...(engines.isAvailable && { engine_state: 'starting' }),
        });
      },
      // The path does not have the slug. An invalid one is not logged.
      async (req, res) => {
        const body = Object(await readBody(req, res));
        const { data: slug } = slugSchema.safeParse(body.tenant_slug);
        return slug === undefined ? {} : { slug };
      },
    ),
  );

  router.get(
    '/:slug',
    operation('get-tenant', may(tenantReadPermission), async (req, res) => {
      const tenant = await store.get(req.params.slug);
      if (!tenant) {
        throw new NotFoundError(`No tenant with the slug '${req.params.slug}'`);
      }
      res.json(tenant);
    }),
  );

  router.patch(
    '/:slug',
    operation(
      'update-tenant',
      may(tenantUpdatePermission),
      async (req, res) => {
        const changes = await readChanges(req, res);
        res.json(await store.update(req.params.slug, changes));
      },
      async (req, res) => ({ changes: { ...(await readChanges(req, res)) } }),
    ),
  );

  router.delete(
    '/:slug',
    operation(
      'delete-tenant',
      may(tenantDeletePermission),
      async (req, res) => {
        await store.delete(req.params.slug);
        res.status(204).end();
      },
    ),
  );

  router.post(
    '/:slug/restore',
    operation(
      'restore-tenant',
      may(tenantDeletePermission),
      async (req, res) => {
        res.json(await store.restore(req.params.slug));
      },
    ),
  );

  router.use(retryAfter());
  return router;
}
