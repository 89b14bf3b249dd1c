import {
  ANNOTATION_LOCATION,
  ANNOTATION_ORIGIN_LOCATION,
  type Entity,
  parseEntityRef,
  RELATION_CHILD_OF,
  RELATION_MEMBER_OF,
  stringifyEntityRef,
} from '@backstage/catalog-model';
import {
  type ActiveTenant,
  type CatalogStore,
  DEFAULT_TENANT_ID,
  type TenantMemberStore,
} from 'backstage-plugin-catalog-tenancy-node';

const PAGE_SIZE = 500;
const USER_OR_GROUP = /^(user|group):/;
/** The form of an entity's name and namespace. A member with any other name gets no entity. */
const REF = /^[a-z]+:[a-z0-9_.-]{1,63}\/[a-z0-9_.-]{1,63}$/;

/** Reads the members of tenants. */
export interface MemberSources {
  members: Pick<TenantMemberStore, 'list'>;
  /** The identity catalog is that of the default tenant. */
  store: Pick<CatalogStore, 'getEntitiesByRefs' | 'queryEntities'>;
}

/**
 * The users and groups that are members of a tenant, and the users of these groups, as entities for
 * its catalog: with the profile that they have in the identity catalog, and in the groups that are
 * members alone.
 */
export async function readMemberEntities(
  tenant: ActiveTenant,
  { members, store }: MemberSources,
): Promise<Entity[]> {
  const refs = (await listPrincipals(tenant.tenantSlug, members)).filter(
    ref => USER_OR_GROUP.test(ref) && REF.test(ref),
  );
  const found = await store.getEntitiesByRefs(DEFAULT_TENANT_ID, refs);
  const groups = new Map(
    found.flatMap((entity, index) =>
      entity && refs[index].startsWith('group:') ? [[refs[index], entity]] : [],
    ),
  );
  const users = new Map<string, Entity | undefined>(
    refs.flatMap((ref, index) =>
      ref.startsWith('user:') ? [[ref, found[index] ?? undefined]] : [],
    ),
  );
  for (const entity of await usersOf([...groups.keys()], store)) {
    users.set(stringifyEntityRef(entity), entity);
  }
  const isInTenant = (ref: string) => groups.has(ref);
  return [
    ...[...groups].map(([ref, entity]) => toGroup(ref, entity, isInTenant)),
    ...[...users].map(([ref, entity]) => toUser(ref, entity, isInTenant)),
  ].map(entity => located(entity, tenant));
}

async function listPrincipals(
  slug: string,
  members: MemberSources['members'],
): Promise<string[]> {
  const principals: string[] = [];
  for (;;) {
    const { items, totalItems } = await members.list(slug, {
      limit: PAGE_SIZE,
      offset: principals.length,
    });
    principals.push(...items.map(({ principal }) => principal));
    if (items.length === 0 || principals.length >= totalItems) {
      return principals;
    }
  }
}

async function usersOf(
  groups: string[],
  store: MemberSources['store'],
): Promise<Entity[]> {
  const users: Entity[] = [];
  for (const group of groups) {
    users.push(
      ...(await store.queryEntities(DEFAULT_TENANT_ID, {
        filter: { kind: 'user', [`relations.${RELATION_MEMBER_OF}`]: group },
      })),
    );
  }
  return users;
}

function toUser(
  ref: string,
  entity: Entity | undefined,
  isInTenant: (group: string) => boolean,
): Entity {
  return {
    ...envelope('User', ref, entity),
    spec: {
      profile: entity?.spec?.profile ?? {},
      memberOf: targetsOf(RELATION_MEMBER_OF, entity).filter(isInTenant),
    },
  };
}

function toGroup(
  ref: string,
  entity: Entity,
  isInTenant: (group: string) => boolean,
): Entity {
  const [parent] = targetsOf(RELATION_CHILD_OF, entity).filter(isInTenant);
  return {
    ...envelope('Group', ref, entity),
    spec: {
      type: entity.spec?.type ?? 'team',
      profile: entity.spec?.profile ?? {},
      ...(parent && { parent }),
      children: [],
    },
  };
}

function envelope(kind: string, ref: string, entity?: Entity): Entity {
  const { name, namespace } = entity?.metadata ?? parseEntityRef(ref);
  const { title, description } = entity?.metadata ?? {};
  return {
    apiVersion: 'backstage.io/v1alpha1',
    kind,
    metadata: {
      name,
      namespace,
      ...(title !== undefined && { title }),
      ...(description !== undefined && { description }),
    },
  };
}

function targetsOf(relation: string, entity?: Entity): string[] {
  return (entity?.relations ?? [])
    .filter(({ type }) => type === relation)
    .map(({ targetRef }) => targetRef);
}

function located(entity: Entity, { tenantSlug }: ActiveTenant): Entity {
  const location = `tenant-members:${tenantSlug}`;
  return {
    ...entity,
    metadata: {
      ...entity.metadata,
      annotations: {
        [ANNOTATION_LOCATION]: location,
        [ANNOTATION_ORIGIN_LOCATION]: location,
      },
    },
  };
}
