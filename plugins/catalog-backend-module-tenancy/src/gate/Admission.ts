import type {
  BackstageCredentials,
  BackstageServicePrincipal,
  BackstageUserPrincipal,
  HttpAuthService,
  UserInfoService,
} from '@backstage/backend-plugin-api';
import {
  type ActiveTenant,
  type AdministratorsConfig,
  DEFAULT_TENANT_ID,
  normalizePrincipal,
  type TenancyConfig,
  type TenantMembers,
  type TenantRole,
} from 'backstage-plugin-catalog-tenancy-node';
import type { Request } from 'express';
import { calledFor } from '../calls/callTokens';
import type { Ownership } from './Ownership';

const PLUGIN = /^plugin:/;
/** The subject of a tenant's token; the slug follows. */
const TENANT = /^tenant:/;
const USER_OR_GROUP = /^(user|group):/i;

/** The credentials of a user. */
type UserCredentials = BackstageCredentials<BackstageUserPrincipal>;

/** The credentials of a request, if it has any. */
export type Credentials =
  | UserCredentials
  | BackstageCredentials<BackstageServicePrincipal>;

/**
 * Decides which callers may enter a tenant.
 *
 * Callers are identified by the identity catalog, which is the default tenant's. The entered
 * tenant's own catalog is not used, because its entities could grant access.
 */
export class Admission {
  constructor(
    private readonly options: {
      administrators: AdministratorsConfig;
      httpAuth: HttpAuthService;
      members: Pick<TenantMembers, 'roleOf'>;
      ownership: Ownership;
      tenancy: Pick<TenancyConfig, 'membership' | 'membershipOfDefault'>;
      userInfo: UserInfoService;
    },
  ) {}

  /**
   * The credentials in the header `Authorization`; undefined if invalid. On routes that require
   * credentials, Backstage has already refused invalid ones with 401.
   */
  credentialsOf(req: Request): Promise<Credentials | undefined> {
    return valid(() =>
      this.options.httpAuth.credentials(req, { allow: ['user', 'service'] }),
    );
  }

  /**
   * Whether the caller of a request may enter its tenant.
   *
   * @throws an error with status 503 if membership cannot be read
   */
  async admits(req: Request, tenant: ActiveTenant): Promise<boolean> {
    const isDefault = tenant.tenantId === DEFAULT_TENANT_ID;
    const { membership, membershipOfDefault } = this.options.tenancy;
    if (
      isDefault ? membershipOfDefault === 'everyone' : membership === 'open'
    ) {
      return true;
    }
    const credentials =
      (await this.credentialsOf(req)) ?? (await this.#cookieCredentialsOf(req));
    if (!credentials) {
      // The route requires no credentials. In the default tenant, only Backstage decides on
      // such routes.
      return isDefault;
    }
    return areOfUser(credentials)
      ? (await this.#roleOfUser(credentials, tenant, req, 'any')) !== undefined
      : this.#admitsService(req, tenant, credentials.principal);
  }

  /**
   * The role of a caller in a tenant, which bounds the decisions of the portal's policy;
   * undefined if the caller may not enter it.
   *
   * @param req - the current request, if any: the user's token in it is the cache key of the user's
   * groups
   * @throws an error with status 503 if membership cannot be read
   */
  async roleOf(
    credentials: Credentials,
    tenant: ActiveTenant,
    req?: Request,
  ): Promise<TenantRole | undefined> {
    const role = areOfUser(credentials)
      ? await this.#roleOfUser(credentials, tenant, req)
      : await this.#roleOfService(credentials.principal, tenant);
    return (
      role ??
      (this.options.tenancy.membership === 'open' ? 'member' : undefined)
    );
  }

  /** The credentials of the cookie with which browsers load images and pages. */
  #cookieCredentialsOf(req: Request): Promise<Credentials | undefined> {
    return valid(() =>
      this.options.httpAuth.credentials(req, {
        allow: ['user', 'service'],
        allowLimitedAccess: true,
      }),
    );
  }

  /**
   * A plugin on behalf of a user counts as the user.
   *
   * @param wanted - with `any`, a role of the user's own is enough, although a group may have a
   * higher one: it is the most frequent, and takes no call to the auth plugin
   */
  async #roleOfUser(
    credentials: UserCredentials,
    tenant: ActiveTenant,
    req?: Request,
    wanted: 'highest' | 'any' = 'highest',
  ): Promise<TenantRole | undefined> {
    const { administrators, members, ownership, userInfo } = this.options;
    const { userEntityRef } = credentials.principal;
    if (administrators.users.has(normalizePrincipal(userEntityRef))) {
      return 'admin';
    }
    const own = await members.roleOf(tenant, [userEntityRef]);
    if (own === 'admin' || (own && wanted === 'any')) {
      return own;
    }
    const refs = await ownership.refsOf(req, credentials, userInfo);
    return members.roleOf(tenant, [userEntityRef, ...refs]);
  }

  async #roleOfService(
    { subject }: BackstageServicePrincipal,
    tenant: ActiveTenant,
  ): Promise<TenantRole | undefined> {
    if (
      PLUGIN.test(subject) ||
      this.options.administrators.services.has(subject)
    ) {
      // Calls of plugins in their own name are not restricted by roles.
      return 'admin';
    }
    if (TENANT.test(subject)) {
      return subject === `tenant:${tenant.tenantSlug}` ? 'member' : undefined;
    }
    // A subject chosen by an issuer must not impersonate a user.
    return USER_OR_GROUP.test(subject)
      ? undefined
      : this.options.members.roleOf(tenant, [subject]);
  }

  async #admitsService(
    req: Request,
    tenant: ActiveTenant,
    principal: BackstageServicePrincipal,
  ): Promise<boolean> {
    // A plugin is in the default tenant, or handles a request of this one, as its token says.
    return PLUGIN.test(principal.subject)
      ? tenant.tenantId === DEFAULT_TENANT_ID ||
          calledFor(req.headers.authorization) === tenant.tenantSlug
      : (await this.#roleOfService(principal, tenant)) !== undefined;
  }
}

/** True for a user, and for a plugin on behalf of a user. */
function areOfUser(credentials: Credentials): credentials is UserCredentials {
  return credentials.principal.type === 'user';
}

async function valid(
  read: () => Promise<
    BackstageCredentials<BackstageUserPrincipal | BackstageServicePrincipal>
  >,
): Promise<Credentials | undefined> {
  try {
    return (await read()) as Credentials;
  } catch (error) {
    if (error instanceof Error && error.name === 'AuthenticationError') {
      return undefined;
    }
    // For example, the tenant of a token cannot be looked up at the moment.
    throw error;
  }
}
