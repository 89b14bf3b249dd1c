import type {
  LoggerService,
  PermissionsService,
  UserInfoService,
} from '@backstage/backend-plugin-api';
import { NotAllowedError } from '@backstage/errors';
import type { BasicPermission } from '@backstage/plugin-permission-common';
import {
  principalsOf,
  type TenantDirectory,
  type TenantMembers,
} from 'backstage-plugin-catalog-tenancy-node';
import {
  type Administrators,
  type CallerCredentials,
  isAllowed,
  isWithinRestrictions,
} from './Administrators';

/**
 * Decides who may administer one tenant, such as its members and its engine's configuration:
 * callers in `tenancy.admins`, and the tenant's admins if the permission policy allows it.
 *
 * The policy cannot allow it to others: with permissions disabled Backstage allows everything
 * to every user, and it always allows everything to services.
 */
export class TenantAdmins {
  constructor(
    private readonly options: {
      administrators: Administrators;
      directory: Pick<TenantDirectory, 'findActive'>;
      logger: LoggerService;
      members: Pick<TenantMembers, 'roleOf'>;
      permissions: PermissionsService;
      userInfo: UserInfoService;
    },
  ) {}

  /**
   * @param what - the part of the tenant, for the error
   * @returns `keepAdmin`: whether the tenant must keep an admin: a tenant's own admins must not
   * lock themselves out; `whileAdmin`: the principals of such an admin, who may be removed before
   * the change is made
   * @throws NotAllowedError if the caller may not, with the same message for an unknown tenant
   */
  async assertMay(
    credentials: CallerCredentials,
    permission: BasicPermission,
    tenantSlug: string,
    what:
      | 'the audit trail'
      | 'the members'
      | 'the engine'
      | 'the shares'
      | 'the use',
  ): Promise<{ keepAdmin: boolean; whileAdmin?: string[] }> {
    if (isWithinRestrictions(credentials.principal, permission)) {
      if (this.options.administrators.isListed(credentials)) {
        return { keepAdmin: false };
      }
      const principals = await this.#adminOf(credentials, tenantSlug);
      const { permissions } = this.options;
      if (
        principals &&
        (await isAllowed(permissions, permission, credentials))
      ) {
        return { keepAdmin: true, whileAdmin: principals };
      }
    }
    throw new NotAllowedError(
      `You may not ${permission.attributes.action} ${what} of this tenant: only ` +
        'its admins and administrators in tenancy.admins may',
    );
  }

  /** The principals of a caller that is an admin of the tenant. */
  async #adminOf(
    credentials: CallerCredentials,
    tenantSlug: string,
  ): Promise<string[] | undefined> {
    const tenant = await this.options.directory.findActive(tenantSlug);
    if (!tenant) {
      return undefined;
    }
    const principals = await principalsOf(credentials, this.options);
    const role = await this.options.members.roleOf(tenant, principals);
    return role === 'admin' ? principals : undefined;
  }
}
