import type {
  AuditorService,
  AuthService,
} from '@backstage/backend-plugin-api';
import { ConflictError, NotAllowedError, toError } from '@backstage/errors';
import type { CatalogService } from '@backstage/plugin-catalog-node';
import {
  type ActiveTenant,
  auditFor,
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
      auditor: AuditorService;
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
      throw new NotAllowedError('You are not a member of this tenant');
    }
    if (wanted !== role) {
      await this.#join(tenant, userRef, wanted, role !== undefined);
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
    tenant: ActiveTenant,
    principal: string,
    role: NonNullable<SignedIn['person']['role']>,
    isMember: boolean,
  ): Promise<void> {
    // In the trail of the tenant, which has nothing else of the auth plugin.
    const event = await this.options.auditor.createEvent(
      auditFor(tenant, {
        eventId: 'join-tenant',
        severityLevel: 'medium',
        meta: { principal, role },
      }),
    );
    try {
      await this.options.memberStore.put(
        tenant.tenantSlug,
        { principal, role },
        { by: principal, keepAdmin: true },
      );
      await event.success();
    } catch (error) {
      await event.fail({ error: toError(error) });
      // The last admin of the tenant stays one, whatever the groups say.
      if (!(isMember && error instanceof ConflictError)) {
        throw error;
      }
    }
  }
}
