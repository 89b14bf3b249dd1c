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
import type { TenantTokens } from '../resolution/TenantTokens';
import type { Ownership } from './Ownership';

const PLUGIN = /^plugin:/;
const USER_OR_GROUP = /^(user|group):/i;

/** The credentials of a user. */
type UserCredentials = BackstageCredentials<BackstageUserPrincipal>;

/** The credentials of a request, if it has any. */
export type Credentials =
  | UserCredentials
  | BackstageCredentials<BackstageServicePrincipal>;

/**
 * Decides who may enter a tenant.
 *
 * A caller is who the identity catalog says, which is the default tenant's. Nothing is
 * looked up in the catalog of the tenant that is to be entered: a tenant that writes its
 * own entities could let itself in otherwise.
 */
export class Admission {
  readonly #administrators: AdministratorsConfig;
  readonly #httpAuth: HttpAuthService;
  readonly #members: Pick<TenantMembers, 'roleOf'>;
  readonly #ownership: Ownership;
  readonly #tenancy: Pick<TenancyConfig, 'membership' | 'membershipOfDefault'>;
  readonly #tokens: TenantTokens;
  readonly #userInfo: UserInfoService;

  constructor(options: {
    administrators: AdministratorsConfig;
    httpAuth: HttpAuthService;
    members: Pick<TenantMembers, 'roleOf'>;
    ownership: Ownership;
    tenancy: Pick<TenancyConfig, 'membership' | 'membershipOfDefault'>;
    /** Resolution refuses a token that is for another tenant than the request. */
    tokens: TenantTokens;
    userInfo: UserInfoService;
  }) {
    this.#administrators = options.administrators;
    this.#httpAuth = options.httpAuth;
    this.#members = options.members;
    this.#ownership = options.ownership;
    this.#tenancy = options.tenancy;
    this.#tokens = options.tokens;
    this.#userInfo = options.userInfo;
  }

  /**
   * The credentials in the header `Authorization`. Those that are not valid count as
   * none: where Backstage asks for credentials it has refused them already, with 401, so
   * that they are in a request to a route that asks for none.
   */
  credentialsOf(req: Request): Promise<Credentials | undefined> {
    return valid(() =>
      this.#httpAuth.credentials(req, { allow: ['user', 'service'] }),
    );
  }

  /**
   * Whether the caller of a request may enter its tenant.
   *
   * @throws an error with status 503 where this can't be found out
   */
  async admits(req: Request, tenant: ActiveTenant): Promise<boolean> {
    const isDefault = tenant.tenantId === DEFAULT_TENANT_ID;
    const { membership, membershipOfDefault } = this.#tenancy;
    if (
      isDefault ? membershipOfDefault === 'everyone' : membership === 'open'
    ) {
      return true;
    }
    const credentials =
      (await this.credentialsOf(req)) ?? (await this.#cookieCredentialsOf(req));
    if (!credentials) {
      // The route asks for none. In the default tenant Backstage decides alone on those.
      return isDefault;
    }
    return areOfUser(credentials)
      ? this.#admitsUser(req, tenant, credentials)
      : this.#admitsService(req, tenant, credentials.principal);
  }

  /**
   * The role of a caller in a tenant, which bounds what the portal's policy can allow there; nothing
   * for one who may not enter it.
   *
   * @param req - by which answers of the auth plugin are remembered, where there is one
   * @throws an error with status 503 where this can't be found out
   */
  async roleOf(
    credentials: Credentials,
    tenant: ActiveTenant,
    req?: Request,
  ): Promise<TenantRole | undefined> {
    const role = areOfUser(credentials)
      ? await this.#roleOfUser(credentials, tenant, req)
      : await this.#roleOfService(credentials.principal, tenant);
    return role ?? (this.#tenancy.membership === 'open' ? 'member' : undefined);
  }

  /** Those of the cookie that browsers load images and pages with. */
  #cookieCredentialsOf(req: Request): Promise<Credentials | undefined> {
    return valid(() =>
      this.#httpAuth.credentials(req, {
        allow: ['user', 'service'],
        allowLimitedAccess: true,
      }),
    );
  }

  async #roleOfUser(
    credentials: UserCredentials,
    tenant: ActiveTenant,
    req?: Request,
  ): Promise<TenantRole | undefined> {
    const { userEntityRef } = credentials.principal;
    if (this.#administrators.users.has(normalizePrincipal(userEntityRef))) {
      return 'admin';
    }
    const own = await this.#members.roleOf(tenant, [userEntityRef]);
    if (own === 'admin') {
      return own;
    }
    // A group may have a higher role.
    const refs = await this.#ownership.refsOf(req, credentials, this.#userInfo);
    return this.#members.roleOf(tenant, [userEntityRef, ...refs]);
  }

  async #roleOfService(
    { subject }: BackstageServicePrincipal,
    tenant: ActiveTenant,
  ): Promise<TenantRole | undefined> {
    if (PLUGIN.test(subject) || this.#administrators.services.has(subject)) {
      // What a plugin does in its own name is its own affair.
      return 'admin';
    }
    if (subject === `tenant:${tenant.tenantSlug}`) {
      return 'member';
    }
    return USER_OR_GROUP.test(subject)
      ? undefined
      : this.#members.roleOf(tenant, [subject]);
  }

  /** On behalf of a user counts as the user. */
  async #admitsUser(
    req: Request,
    tenant: ActiveTenant,
    credentials: UserCredentials,
  ): Promise<boolean> {
    const { userEntityRef } = credentials.principal;
    if (this.#administrators.users.has(normalizePrincipal(userEntityRef))) {
      return true;
    }
    // Most members are so by their own name, which takes no call to the auth plugin.
    if (await this.#members.roleOf(tenant, [userEntityRef])) {
      return true;
    }
    const refs = await this.#ownership.refsOf(req, credentials, this.#userInfo);
    return (await this.#members.roleOf(tenant, refs)) !== undefined;
  }

  async #admitsService(
    req: Request,
    tenant: ActiveTenant,
    { subject }: BackstageServicePrincipal,
  ): Promise<boolean> {
    if (this.#tokens.fromHeader(req.headers.authorization)) {
      return true;
    }
    if (PLUGIN.test(subject)) {
      // Or where it acts in a request of this tenant, which its token says.
      return (
        tenant.tenantId === DEFAULT_TENANT_ID ||
        calledFor(req.headers.authorization) === tenant.tenantSlug
      );
    }
    if (this.#administrators.services.has(subject)) {
      return true;
    }
    // An issuer that may choose the subject can not become a user.
    return (
      !USER_OR_GROUP.test(subject) &&
      (await this.#members.roleOf(tenant, [subject])) !== undefined
    );
  }
}

/** Whether they are those of a user, or of a plugin on behalf of one. */
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
    // Such as that of a token's tenant, which can't be looked up at the moment.
    throw error;
  }
}
