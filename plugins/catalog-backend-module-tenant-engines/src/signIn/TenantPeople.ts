import type { AuthService } from '@backstage/backend-plugin-api';
import { ConflictError, NotAllowedError } from '@backstage/errors';
import type { CatalogService } from '@backstage/plugin-catalog-node';
import {
  DEFAULT_TENANT_ID,
  DEFAULT_TENANT_SLUG,
  type TenantMembers,
  type TenantMemberStore,
  withTenant,
} from 'backstage-plugin-catalog-tenancy-node';
import type { SignInConfig } from './SignInConfig';
import type { SignedIn } from './tenantAuthenticator';

const IDENTITIES = {
  tenantId: DEFAULT_TENANT_ID,
  tenantSlug: DEFAULT_TENANT_SLUG,
};

/** Decides which people of a tenant's provider may sign in, and as which user. */
export class TenantPeople {
  constructor(
    private readonly options: {
      auth: AuthService;
      catalog: Pick<CatalogService, 'getEntityByRef'>;
      config: Pick<SignInConfig, 'isAdministrator'>;
      members: Pick<TenantMembers, 'roleOf'>;
      memberStore: Pick<TenantMemberStore, 'put'>;
    },
  ) {}

  /**
   * The reference of the user. The namespace is the tenant's slug, whatever the provider says;
   * who joins becomes a member.
   *
   * @throws NotAllowedError for a user who is no member and does not join, and for a reference
   * that the identity catalog or `tenancy.admins` has
   */
  async admit(signedIn: SignedIn): Promise<string> {
    const { tenant, provider, person, isRefresh } = signedIn;
    const userRef = `user:${tenant.tenantSlug}/${person.name}`;
    await this.#refuseSomebodyElse(userRef);
    const role = await this.options.members.roleOf(tenant, [userRef]);
    const wanted = isRefresh ? role : person.role ?? role ?? provider.auto_join;
    if (wanted === undefined) {
      throw new NotAllowedError('You are no member of this tenant');
    }
    if (wanted !== role) {
      await this.#join(tenant.tenantSlug, userRef, wanted, role !== undefined);
    }
    return userRef;
  }

  /** A tenant's provider must not sign in a user of the identity catalog. */
  async #refuseSomebodyElse(userRef: string): Promise<void> {
    const credentials = withTenant(
      IDENTITIES,
      await this.options.auth.getOwnServiceCredentials(),
    );
    if (
      this.options.config.isAdministrator(userRef) ||
      (await this.options.catalog.getEntityByRef(userRef, { credentials }))
    ) {
      throw new NotAllowedError(
        `The portal knows ${userRef} as somebody else: a tenant's own sign-in can't be used for this name`,
      );
    }
  }

  async #join(
    tenantSlug: string,
    principal: string,
    role: NonNullable<SignedIn['person']['role']>,
    isMember: boolean,
  ): Promise<void> {
    try {
      await this.options.memberStore.put(
        tenantSlug,
        { principal, role },
        { by: principal, keepAdmin: true },
      );
    } catch (error) {
      // The last admin of the tenant stays one, whatever the groups say.
      if (!(isMember && error instanceof ConflictError)) {
        throw error;
      }
    }
  }
}
