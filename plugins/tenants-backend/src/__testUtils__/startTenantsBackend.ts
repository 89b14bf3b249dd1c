import {
  type BackendFeature,
  coreServices,
  createServiceFactory,
} from '@backstage/backend-plugin-api';
import {
  mockCredentials,
  mockServices,
  startTestBackend,
} from '@backstage/backend-test-utils';
import type { JsonObject } from '@backstage/types';
import { callersOf } from '@internal/catalog-testing/caller';
import { TenantsClient } from 'backstage-plugin-tenants-common';
import {
  AuditedAdminDatabase,
  highestRole,
  PooledTenantDatabase,
  PostgresTenantAuditTrail,
  PostgresTenantEngineStore,
  PostgresTenantInvitationStore,
  PostgresTenantMemberStore,
  PostgresTenantShareStore,
  PostgresTenantSignInStore,
  PostgresTenantStore,
  PostgresTenantUsageStore,
  type TenancyPool,
  tenantAuditTrailServiceRef,
  type TenantDirectory,
  tenantDirectoryServiceRef,
  tenantEngineStoreServiceRef,
  tenantInvitationStoreServiceRef,
  type TenantMembers,
  type TenantRole,
  tenantMembersServiceRef,
  tenantMemberStoreServiceRef,
  tenantOwnershipServiceRef,
  tenantSignInStoreServiceRef,
  tenantShareStoreServiceRef,
  tenantStoreServiceRef,
  tenantUsageServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';
import tenantsPlugin from '..';

export const ADMIN = 'user:default/admin';
export const ALICE = 'user:default/alice';
export const CI = 'external:ci';

/**
 * Starts a backend with the registry of tenants on a pool, with the real routing,
 * authentication barrier and error middleware of Backstage. {@link ADMIN} and
 * {@link CI} are administrators, unless configured otherwise.
 */
export async function startTenantsBackend(options: {
  pool: TenancyPool;
  config?: JsonObject;
  features?: BackendFeature[];
}) {
  const { pool, config, features = [] } = options;
  const { server } = await startTestBackend({
    features: [
      tenantsPlugin,
      createServiceFactory({
        service: tenantStoreServiceRef,
        deps: { auditor: coreServices.auditor },
        factory: ({ auditor }) =>
          new PostgresTenantStore({
            pool,
            admin: new AuditedAdminDatabase({ pool, auditor }),
            database: new PooledTenantDatabase(pool),
            directory: { forget: () => {} },
          }),
      }),
      createServiceFactory({
        service: tenantEngineStoreServiceRef,
        deps: { auditor: coreServices.auditor },
        factory: ({ auditor }) =>
          new PostgresTenantEngineStore({
            pool,
            admin: new AuditedAdminDatabase({ pool, auditor }),
            changes: { changed: () => {} },
          }),
      }),
      createServiceFactory({
        service: tenantMemberStoreServiceRef,
        deps: {
          auditor: coreServices.auditor,
          members: tenantMembersServiceRef,
        },
        factory: ({ auditor, members }) =>
          new PostgresTenantMemberStore({
            pool,
            admin: new AuditedAdminDatabase({ pool, auditor }),
            members,
          }),
      }),
      createServiceFactory({
        service: tenantInvitationStoreServiceRef,
        deps: {
          auditor: coreServices.auditor,
          members: tenantMembersServiceRef,
        },
        factory: ({ auditor, members }) =>
          new PostgresTenantInvitationStore({
            pool,
            admin: new AuditedAdminDatabase({ pool, auditor }),
            members,
          }),
      }),
      createServiceFactory({
        service: tenantSignInStoreServiceRef,
        deps: { auditor: coreServices.auditor },
        factory: ({ auditor }) =>
          new PostgresTenantSignInStore({
            pool,
            admin: new AuditedAdminDatabase({ pool, auditor }),
          }),
      }),
      createServiceFactory({
        service: tenantShareStoreServiceRef,
        deps: { auditor: coreServices.auditor },
        factory: ({ auditor }) =>
          new PostgresTenantShareStore({
            pool,
            admin: new AuditedAdminDatabase({ pool, auditor }),
          }),
      }),
      createServiceFactory({
        service: tenantUsageServiceRef,
        deps: { logger: coreServices.rootLogger },
        factory: ({ logger }) =>
          new PostgresTenantUsageStore({
            database: new PooledTenantDatabase(pool),
            pool,
            logger,
          }),
      }),
      createServiceFactory({
        service: tenantAuditTrailServiceRef,
        deps: { logger: coreServices.rootLogger },
        factory: ({ logger }) =>
          new PostgresTenantAuditTrail({
            config: { keepDays: 90, minSeverity: 'medium' },
            database: new PooledTenantDatabase(pool),
            pool,
            logger,
          }),
      }),
      createServiceFactory({
        service: tenantMembersServiceRef,
        deps: {},
        factory: () => membersOn(pool),
      }),
      createServiceFactory({
        service: tenantOwnershipServiceRef,
        deps: {},
        factory: () => ({
          refsOf: async ({ tenantSlug }, { userEntityRef }) => [
            userEntityRef,
            `group:default/team-of-${tenantSlug}`,
          ],
        }),
      }),
      createServiceFactory({
        service: tenantDirectoryServiceRef,
        deps: {},
        factory: () => directoryOn(pool),
      }),
      mockServices.rootConfig.factory({
        data: config ?? { tenancy: { admins: [ADMIN, CI] } },
      }),
      ...features,
    ],
  });

  const as = callersOf(server, '/api/tenants');

  return {
    admin: as(mockCredentials.user.header(ADMIN)),
    alice: as(mockCredentials.user.header(ALICE)),
    anonymous: as(mockCredentials.none.header()),
    as,
    client: new TenantsClient({
      discoveryApi: {
        getBaseUrl: async pluginId =>
          `http://localhost:${server.port()}/api/${pluginId}`,
      },
    }),
    port: () => server.port(),
    stop: () => server.stop(),
  };
}

/** Asks the database each time, as the one of a backend that does not hear does. */
function directoryOn(pool: TenancyPool): TenantDirectory {
  return {
    async findActive(slug) {
      const [row] = await pool.query<{ tenant_id: string }>(knex =>
        knex('tenants')
          .select('tenant_id')
          .where('tenant_slug', slug)
          .whereNull('deleted_at'),
      );
      return row && { tenantId: row.tenant_id, tenantSlug: slug };
    },
    forget: () => {},
  };
}

/** The same for members. */
function membersOn(pool: TenancyPool): TenantMembers {
  const rolesOf: TenantMembers['rolesOf'] = async (
    { tenantId },
    principals,
  ) => {
    const rows = await pool.query<{ principal: string; role: TenantRole }>(
      knex =>
        knex('tenant_members')
          .select('principal', 'role')
          .where('tenant_id', tenantId)
          .whereIn('principal', [...principals]),
    );
    return new Map(rows.map(({ principal, role }) => [principal, role]));
  };
  return {
    roleOf: async (tenant, principals) =>
      highestRole([...(await rolesOf(tenant, principals)).values()]),
    rolesOf,
    forget: () => {},
  };
}

export type TenantsBackend = Awaited<ReturnType<typeof startTenantsBackend>>;
