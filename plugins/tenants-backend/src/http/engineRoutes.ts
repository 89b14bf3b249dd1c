import { ConflictError, NotFoundError } from '@backstage/errors';
import { parseDemands, parseIfMatch } from '@internal/http';
import {
  configRevisionOf,
  tenantConfigReadPermission,
  tenantConfigUpdatePermission,
  type TenantEngineRecord,
  tenantUpdatePermission,
} from 'backstage-plugin-catalog-tenancy-node';
import { parseInput } from '@internal/http-client';
import {
  catalogConfigSchema,
  type TenantCatalogConfig,
  type TenantStatus,
} from 'backstage-plugin-tenants-common';
import type { Response, Router } from 'express';
import { administratorAccess, tenantAdminAccess } from './access';
import { bodyOf } from './body';
import { stateOf } from './summaries';
import type { RouterOptions } from './RouterOptions';

const readConfig = bodyOf(catalogConfigSchema, 'catalog-config', {
  limit: 256 * 1024,
});

/** The message of a backend without engines. */
const NO_ENGINES =
  'This backend has no catalog engines for tenants: add ' +
  'backstage-plugin-catalog-backend-module-tenant-engines to it';

/** Of a tenant without an engine here. */
const NO_REPORT = {
  faults: null,
  lag_seconds: null,
  oldest_due_at: null,
  source_errors: null,
  source_error_count: null,
  last_error: null,
  last_error_at: null,
  last_full_run_at: null,
  process: null,
  lease_expires_at: null,
};

/** Adds the routes of a tenant's engine and its configuration. */
export function addEngineRoutes(router: Router, options: RouterOptions): void {
  const {
    administrators,
    engines,
    engineStore,
    operation,
    store,
    tenantAdmins,
  } = options;

  const mayPause = administratorAccess(administrators)(tenantUpdatePermission);
  const may = tenantAdminAccess(tenantAdmins, 'the engine');

  const configuredBy = ({ tenantSlug, catalogConfig }: TenantEngineRecord) => {
    if (engines.isConfiguredByOperator(tenantSlug)) {
      return 'operator';
    }
    return catalogConfig ? 'registry' : null;
  };

  function toConfig(engine: TenantEngineRecord): TenantCatalogConfig {
    const configured_by = configuredBy(engine);
    if (configured_by === 'operator') {
      return { configured_by, updated_at: null, updated_by: null };
    }
    return {
      configured_by,
      ...parseInput(
        catalogConfigSchema,
        engine.catalogConfig ?? {},
        'catalog-config',
      ),
      updated_at: engine.configUpdatedAt?.toISOString() ?? null,
      updated_by: engine.configUpdatedBy ?? null,
    };
  }

  function sendConfig(res: Response, engine: TenantEngineRecord): void {
    const config = toConfig(engine);
    // The operator's configuration is not shown, and its ETag would reveal changes.
    if (config.configured_by !== 'operator') {
      res.set('ETag', `"${configRevisionOf(engine)}"`);
    }
    res.json(config);
  }

  async function requireEngine(tenantSlug: string) {
    const engine = await engineStore.get(tenantSlug);
    if (!engine) {
      throw new NotFoundError(
        `The tenant '${tenantSlug}' has no engine: the catalog plugin of the backend feeds it`,
      );
    }
    return engine;
  }

  function refuseOperators(tenantSlug: string): void {
    if (engines.isConfiguredByOperator(tenantSlug)) {
      throw new ConflictError(
        `The engine of the tenant '${tenantSlug}' is configured in app-config ` +
          `(tenancy.tenants.${tenantSlug}): only the operator can change that`,
      );
    }
  }

  function refuseWithoutEngines(): void {
    if (!engines.isAvailable) {
      throw new ConflictError(NO_ENGINES);
    }
  }

  router.get(
    '/:slug/status',
    operation(
      'get-tenant-status',
      may(tenantConfigReadPermission),
      async (req, res) => {
        const { slug } = req.params;
        // Throws for an unknown or deleted tenant.
        const engine = await engineStore.get(slug);
        const [{ live_entities }, report] = await Promise.all([
          store.usage(slug),
          engine && engines.isAvailable
            ? engines.report(engine.tenantId)
            : undefined,
        ]);
        res.json({
          ...NO_REPORT,
          ...report,
          tenant_slug: slug,
          state: stateOf(engine, report),
          reason: engine && !report ? NO_ENGINES : report?.reason ?? null,
          paused_at: engine?.pausedAt?.toISOString() ?? null,
          paused_by: engine?.pausedBy ?? null,
          entities: live_entities,
          catalog_version: engines.catalogVersion ?? null,
        } satisfies TenantStatus);
      },
    ),
  );

  // Only administrators of all tenants may pause and resume: a tenant must not resume an engine
  // that was paused because it harmed others. Works in a backend without engines, because
  // another backend on this database may have them.
  router.put(
    '/:slug/engine/pause',
    operation('pause-tenant-engine', mayPause, async (req, res, { by }) => {
      const { tenantSlug } = await requireEngine(req.params.slug);
      await engineStore.pause(tenantSlug, { by });
      res.status(204).end();
    }),
  );

  router.delete(
    '/:slug/engine/pause',
    operation('resume-tenant-engine', mayPause, async (req, res) => {
      const { tenantSlug } = await requireEngine(req.params.slug);
      await engineStore.resume(tenantSlug);
      res.status(204).end();
    }),
  );

  router.get(
    '/:slug/catalog-config',
    operation(
      'get-tenant-catalog-config',
      may(tenantConfigReadPermission),
      async (req, res) => {
        sendConfig(res, await requireEngine(req.params.slug));
      },
    ),
  );

  router.put(
    '/:slug/catalog-config',
    operation(
      'put-tenant-catalog-config',
      { ...may(tenantConfigUpdatePermission), evaluatesIfMatch: true },
      async (req, res, { by, whileAdmin }) => {
        const { slug } = req.params;
        const ifRevisionIn = parseIfMatch(req);
        const demands = parseDemands(req);
        const config = await readConfig(req, res);
        refuseWithoutEngines();
        const { tenantId, tenantSlug } = await requireEngine(slug);
        refuseOperators(tenantSlug);
        await engines.validateConfig({ tenantId, tenantSlug }, { ...config });
        sendConfig(
          res,
          await engineStore.putConfig(
            tenantSlug,
            { ...config },
            { by, demands, ifRevisionIn, whileAdmin },
          ),
        );
      },
      'errors may quote the body',
    ),
  );
}
