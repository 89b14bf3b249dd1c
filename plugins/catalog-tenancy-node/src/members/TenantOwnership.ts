import {
  RELATION_HAS_MEMBER,
  RELATION_MEMBER_OF,
} from '@backstage/catalog-model';
import type { BackstageUserInfo } from '@backstage/backend-plugin-api';
import type { CatalogStore } from '../catalog/CatalogStore';
import type { ActiveTenant } from '../tenants/TenantDirectory';
import { normalizePrincipal } from './principals';
import type { TenantMembers } from './TenantMembers';

const USER = /^user:[^\s/:]+\/[^\s/:]+$/;
const GROUP = /^group:/i;

/**
 * Looks up the ownership refs of a user in a tenant.
 *
 * Not for access control: the tenant's own catalog affects the result.
 *
 * @public
 */
export interface TenantOwnership {
  /**
   * The ownership refs of a user in a tenant: the user, the groups of the tenant's catalog with
   * the user as a member, and the groups of the identity catalog that are members of the
   * tenant. Other groups of the identity catalog own nothing in the tenant.
   *
   * @param identity - the user's ref and groups from the sign-in
   * @throws {@link DatabaseUnavailableError} if there is no connection in time
   */
  refsOf(tenant: ActiveTenant, identity: BackstageUserInfo): Promise<string[]>;
}

/** {@link TenantOwnership} that queries the tenant's catalog on each call. */
export class CatalogTenantOwnership implements TenantOwnership {
  constructor(
    private readonly options: {
      store: Pick<CatalogStore, 'getEntity' | 'queryEntities'>;
      members: Pick<TenantMembers, 'rolesOf'>;
    },
  ) {}

  async refsOf(
    tenant: ActiveTenant,
    { userEntityRef, ownershipEntityRefs }: BackstageUserInfo,
  ): Promise<string[]> {
    const groups = ownershipEntityRefs
      .filter(ref => GROUP.test(ref))
      .map(normalizePrincipal);
    const [ofCatalog, roles] = await Promise.all([
      this.#groupsOf(tenant.tenantId, normalizePrincipal(userEntityRef)),
      this.options.members.rolesOf(tenant, groups),
    ]);
    return [...new Set([userEntityRef, ...ofCatalog, ...roles.keys()])];
  }

  /** Like Backstage's sign-in resolvers: relations of the user's entity, or else of groups. */
  async #groupsOf(tenantId: string, userRef: string): Promise<string[]> {
    if (!USER.test(userRef)) {
      return [];
    }
    const user = await this.options.store.getEntity(tenantId, userRef);
    if (user) {
      return (user.relations ?? [])
        .filter(({ type }) => type === RELATION_MEMBER_OF)
        .map(({ targetRef }) => targetRef)
        .filter(ref => GROUP.test(ref));
    }
    const groups = await this.options.store.queryEntities(tenantId, {
      filter: { kind: 'group', [`relations.${RELATION_HAS_MEMBER}`]: userRef },
    });
    return groups.map(({ metadata: { name, namespace = 'default' } }) =>
      `group:${namespace}/${name}`.toLocaleLowerCase('en-US'),
    );
  }
}
