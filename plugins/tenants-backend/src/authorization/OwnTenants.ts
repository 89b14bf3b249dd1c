import type {
  LoggerService,
  UserInfoService,
} from '@backstage/backend-plugin-api';
import {
  type ActiveTenant,
  DEFAULT_TENANT_ID,
  DEFAULT_TENANT_SLUG,
  type ListMembers,
  type Membership,
  principalsOf,
  type TenancyConfig,
  type TenantMembers,
  type TenantMemberStore,
  type TenantRole,
  type TenantStore,
} from 'backstage-plugin-catalog-tenancy-node';
import type { Administrators, CallerCredentials } from './Administrators';

interface OwnTenantsPage {
  items: Membership[];
  totalItems: number;
}

/** The tenants that a caller may enter. */
export class OwnTenants {
  constructor(
    private readonly options: {
      administrators: Administrators;
      config: Pick<
        TenancyConfig,
        'enabled' | 'membership' | 'membershipOfDefault'
      >;
      logger: LoggerService;
      members: Pick<TenantMemberStore, 'tenantsOf'>;
      roles: Pick<TenantMembers, 'roleOf'>;
      tenants: Pick<TenantStore, 'get'>;
      userInfo: UserInfoService;
    },
  ) {}

  /**
   * A page of these tenants, ordered by slug, with the caller's role. A caller in
   * `tenancy.admins` is an admin of all. Plugins of this backend are in the default tenant, and
   * a tenant's token is in its tenant, without membership.
   */
  async list(
    credentials: CallerCredentials,
    page: Required<ListMembers>,
  ): Promise<OwnTenantsPage> {
    const isAdministrator = this.options.administrators.isListed(credentials);
    if (!this.options.config.enabled) {
      // The table of members may not exist, and every request is in the default tenant.
      return this.#one(
        DEFAULT_TENANT_SLUG,
        isAdministrator ? 'admin' : 'member',
        page,
      );
    }
    if (isAdministrator) {
      const found = await this.options.members.tenantsOf([], {
        ...page,
        beyond: 'all',
      });
      return {
        ...found,
        items: found.items.map(tenant => ({ ...tenant, role: 'admin' })),
      };
    }
    const slug = ofService(credentials);
    if (slug !== undefined) {
      return this.#one(slug, 'member', page);
    }
    return this.options.members.tenantsOf(
      await principalsOf(credentials, this.options),
      { ...page, beyond: this.#beyondMembership() },
    );
  }

  /** Whether a caller may enter a tenant, with its role, if any. */
  async enter(
    credentials: CallerCredentials,
    tenant: ActiveTenant,
  ): Promise<{ mayEnter: boolean; role?: TenantRole }> {
    if (this.options.administrators.isListed(credentials)) {
      return { mayEnter: true, role: 'admin' };
    }
    if (ofService(credentials) !== undefined) {
      // The gate has admitted them.
      return { mayEnter: true, role: 'member' };
    }
    const role = await this.options.roles.roleOf(
      tenant,
      await principalsOf(credentials, this.options),
    );
    const beyond = this.#beyondMembership();
    const isOpen =
      beyond === 'all' ||
      beyond === (tenant.tenantId === DEFAULT_TENANT_ID ? 'default' : 'others');
    return { mayEnter: role !== undefined || isOpen, role };
  }

  #beyondMembership(): 'default' | 'others' | 'all' | undefined {
    const { membership, membershipOfDefault } = this.options.config;
    if (membership === 'open') {
      return membershipOfDefault === 'everyone' ? 'all' : 'others';
    }
    return membershipOfDefault === 'everyone' ? 'default' : undefined;
  }

  async #one(
    slug: string,
    role: TenantRole,
    { offset }: Required<ListMembers>,
  ): Promise<OwnTenantsPage> {
    const tenant = await this.options.tenants.get(slug);
    if (!tenant || tenant.deleted_at) {
      return { items: [], totalItems: 0 };
    }
    const { tenant_slug, tenant_name } = tenant;
    const all = [{ tenant_slug, tenant_name, role }];
    return { items: all.slice(offset), totalItems: 1 };
  }
}

/** The slug of the tenant that a plugin of this backend, or a tenant's token, is in. */
function ofService({ principal }: CallerCredentials): string | undefined {
  if (principal.type !== 'service') {
    return undefined;
  }
  return principal.subject.startsWith('plugin:')
    ? DEFAULT_TENANT_SLUG
    : /^tenant:(.*)$/.exec(principal.subject)?.[1];
}
