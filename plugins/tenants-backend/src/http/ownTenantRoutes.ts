import {
  type ActiveTenant,
  DEFAULT_TENANT_ID,
  DEFAULT_TENANT_SLUG,
  principalsOf,
  tenantOf,
  tenantReadPermission,
  tenantSourceOf,
} from 'backstage-plugin-catalog-tenancy-node';
import { type OpenTenant, pageSchema } from 'backstage-plugin-tenants-common';
import type { Response, Router } from 'express';
import type { CallerCredentials } from '../authorization/Administrators';
import { sendPage } from './answers';
import type { Access } from './operations';
import { parseQuery } from './query';
import type { RouterOptions } from './RouterOptions';

/** Adds the routes of the tenants that a caller may enter, and of the current tenant. */
export function addOwnTenantRoutes(
  router: Router,
  options: RouterOptions,
): void {
  const { administrators, config, engines } = options;
  const { gates, operation, ownership, ownTenants, store } = options;

  const anyCaller: Access<CallerCredentials> = {
    changes: false,
    check: async credentials => credentials,
  };

  /**
   * The caller's ownership refs in a tenant; empty in the default tenant, for which the sign-in
   * has them.
   */
  const refsOf = async (
    credentials: CallerCredentials,
    tenant: ActiveTenant,
  ): Promise<string[]> => {
    const { principal } = credentials;
    return tenant.tenantId !== DEFAULT_TENANT_ID && principal.type === 'user'
      ? ownership.refsOf(tenant, {
          userEntityRef: principal.userEntityRef,
          ownershipEntityRefs: await principalsOf(credentials, options),
        })
      : [];
  };

  router.get(
    '/mine',
    operation('list-own-tenants', anyCaller, async (req, res, credentials) => {
      const page = parseQuery(pageSchema, req);
      sendPage(req, res, await ownTenants.list(credentials, page), page);
    }),
  );

  router.get(
    '/mine/current',
    operation('get-open-tenant', anyCaller, async (req, res, credentials) => {
      const administers_tenants = await administrators.may(
        credentials,
        tenantReadPermission,
      );
      if (!config.enabled) {
        send(res, {
          tenant_slug: DEFAULT_TENANT_SLUG,
          // The registry may not exist.
          tenant_name: 'Default tenant',
          role: null,
          ownership_entity_refs: [],
          administers_tenants,
          named_by: 'default',
          base_domain: null,
          takes_locations: true,
          closed_plugins: [],
          own_tenants: { items: [], totalItems: 0 },
          enabled: false,
        });
        return;
      }
      const tenant = tenantOf(req);
      const isDefault = tenant.tenantId === DEFAULT_TENANT_ID;
      const [row, entry, own] = await Promise.all([
        store.get(tenant.tenantSlug),
        ownTenants.enter(credentials, tenant),
        ownTenants.list(credentials, { limit: 100, offset: 0 }),
      ]);
      // The tenant may have been deleted since the gate admitted the request. In the default
      // tenant the gate does not check membership here, because this plugin is shared.
      if (!row || row.deleted_at || !entry.mayEnter) {
        refuse(res);
        return;
      }
      send(res, {
        tenant_slug: row.tenant_slug,
        tenant_name: row.tenant_name,
        role: entry.role ?? null,
        ownership_entity_refs: await refsOf(credentials, tenant),
        administers_tenants,
        named_by: tenantSourceOf(req),
        base_domain: config.baseDomains[0] ?? null,
        takes_locations: isDefault || engines.isAvailable,
        closed_plugins: isDefault ? [] : gates.closedPlugins(),
        own_tenants: own,
        enabled: true,
      });
    }),
  );
}

function send(res: Response, tenant: OpenTenant): void {
  // Browsers request it at each load of a page and must see changes.
  res.set('Cache-Control', 'no-store').json(tenant);
}

/** The same bytes as the gate's refusal. */
function refuse(res: Response): void {
  res.status(403).type('application/json').send('{"error":"Invalid tenant"}');
}
