import type {
  BackstageCredentials,
  PermissionsService,
} from '@backstage/backend-plugin-api';
import {
  AuthorizeResult,
  type Permission,
} from '@backstage/plugin-permission-common';
import {
  type ActiveTenant,
  carriedTenant,
  currentTenant,
  DEFAULT_TENANT_ID,
  isWithinRole,
  type TenantRole,
  withoutTenant,
} from 'backstage-plugin-catalog-tenancy-node';
import express, { type Request, type RequestHandler, Router } from 'express';

/** Finds the role that a caller has in a tenant; nothing for one who may not enter it. */
export type FindRole = (
  credentials: BackstageCredentials,
  tenant: ActiveTenant,
) => Promise<TenantRole | undefined>;

type Query = { permission: Permission };
type Ask = (queries: any[], options: any) => Promise<any[]>;

/**
 * Has the roles of a tenant bound what a plugin lets its callers do there: what a role does not
 * have is denied before the portal's policy is asked, also where permissions are disabled.
 *
 * This changes the service of the plugin, which Backstage makes for it alone, as `carryTenants`
 * does with the auth service.
 */
export function narrowPermissions(
  permissions: PermissionsService,
  findRole: FindRole,
): void {
  decorateBoth(permissions, ask => async (queries, options) => {
    const credentials = credentialsOf(options);
    const tenant = credentials && tenantWithRoles(credentials);
    if (!tenant) {
      return ask(queries, options);
    }
    const role = await findRole(credentials, tenant);
    const isAsked = queries.map(({ permission }) => isWithin(role, permission));
    const asked = queries.filter((_, index) => isAsked[index]);
    const answers = asked.length > 0 ? await ask(asked, options) : [];
    return isAsked.map(wasAsked =>
      wasAsked ? answers.shift() : { result: AuthorizeResult.DENY },
    );
  });
}

/**
 * Has a plugin that holds nothing of tenants ask the policy outside of every tenant: what the catalog
 * of a tenant says of its users gives nobody a right to what is the portal's.
 */
export function leaveTenants(permissions: PermissionsService): void {
  decorateBoth(permissions, ask => (queries, options) => {
    const credentials = credentialsOf(options);
    return ask(
      queries,
      credentials
        ? { ...options, credentials: withoutTenant(credentials) }
        : options,
    );
  });
}

/** The same bounds for whoever asks the plugin `permission` itself, as pages do. */
export function narrowAuthorize(
  credentialsOfRequest: (
    req: Request,
  ) => Promise<BackstageCredentials | undefined>,
  findRole: FindRole,
): RequestHandler {
  const narrow: RequestHandler = (req, res, next) => {
    const items: unknown = req.body?.items;
    const bound = async () => {
      const credentials = await credentialsOfRequest(req);
      const tenant = credentials && tenantWithRoles(credentials);
      if (!tenant || !Array.isArray(items)) {
        return;
      }
      const role = await findRole(credentials, tenant);
      const isAsked = (item?: Partial<Query>) =>
        // The plugin refuses what is no question.
        typeof item?.permission?.name !== 'string' ||
        isWithin(role, item.permission);
      const denied = items
        .filter(item => !isAsked(item))
        .map(({ id }) => ({ id, result: AuthorizeResult.DENY }));
      req.body.items = items.filter(isAsked);
      const send = res.json.bind(res);
      res.json = body =>
        send(
          Array.isArray(body?.items)
            ? { ...body, items: [...body.items, ...denied] }
            : body,
        );
    };
    bound().then(() => next(), next);
  };
  return Router().post('/authorize', express.json(), narrow);
}

/** In the default tenant everything is as the policy says. */
function tenantWithRoles(
  credentials: BackstageCredentials,
): ActiveTenant | undefined {
  // An auth service of the operator may make credentials anew, which carry nothing.
  const tenant = carriedTenant(credentials) ?? currentTenant();
  return tenant?.tenantId === DEFAULT_TENANT_ID ? undefined : tenant;
}

function isWithin(
  role: TenantRole | undefined,
  { name, attributes }: Pick<Permission, 'name' | 'attributes'>,
): boolean {
  return (
    role !== undefined &&
    isWithinRole(role, { name, attributes: attributes ?? {} })
  );
}

function credentialsOf(options: unknown): BackstageCredentials | undefined {
  return (options as { credentials?: BackstageCredentials } | undefined)
    ?.credentials;
}

function decorateBoth(
  permissions: PermissionsService,
  decorate: (ask: Ask) => Ask,
): void {
  const { authorize, authorizeConditional } = permissions;
  permissions.authorize = decorate(authorize.bind(permissions));
  permissions.authorizeConditional = decorate(
    authorizeConditional.bind(permissions),
  );
}
