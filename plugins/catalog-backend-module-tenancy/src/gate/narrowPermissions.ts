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

/** Finds the role of a caller in a tenant; undefined if the caller may not enter it. */
export type FindRole = (
  credentials: BackstageCredentials,
  tenant: ActiveTenant,
) => Promise<TenantRole | undefined>;

type Query = { permission: Permission };
type Ask = (queries: any[], options: any) => Promise<any[]>;

/**
 * Denies permissions that the caller's role in the tenant lacks, before the portal's policy
 * decides, and even if permissions are disabled.
 *
 * Replaces methods of the plugin's own service instance, as `carryTenants` does with the auth
 * service.
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
 * Removes the tenant from permission requests of a shared plugin: ownership in a tenant's
 * catalog must not grant rights in the portal.
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

/** Applies the same bounds to requests to the plugin `permission`, which pages send. */
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
        // The plugin itself refuses malformed items.
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

/** The tenant, unless it is the default tenant, in which only the policy decides. */
function tenantWithRoles(
  credentials: BackstageCredentials,
): ActiveTenant | undefined {
  // A custom auth service may create new credentials, which carry no tenant.
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
