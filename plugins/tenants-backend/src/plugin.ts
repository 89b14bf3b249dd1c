import {
  coreServices,
  createBackendPlugin,
} from '@backstage/backend-plugin-api';
import { metricsServiceRef } from '@backstage/backend-plugin-api/alpha';
import { catalogServiceRef } from '@backstage/plugin-catalog-node';
import {
  type InvitationSender,
  readTenancyConfig,
  tenantAuditTrailServiceRef,
  tenantDirectoryServiceRef,
  tenantEnginesServiceRef,
  tenantEngineStoreServiceRef,
  tenantGatesServiceRef,
  tenantInvitationsExtensionPoint,
  tenantInvitationStoreServiceRef,
  tenantMembersServiceRef,
  tenantMemberStoreServiceRef,
  tenantOwnershipServiceRef,
  tenantPermissions,
  tenantSignInStoreServiceRef,
  tenantShareStoreServiceRef,
  tenantStoreServiceRef,
  tenantUsageServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';
import { Administrators } from './authorization/Administrators';
import { OwnTenants } from './authorization/OwnTenants';
import { TenantAdmins } from './authorization/TenantAdmins';
import { createRouter } from './http/createRouter';
import { createOperations } from './http/operations';
import { IdentityCatalog } from './identity/IdentityCatalog';

/**
 * The registry of tenants, at `/api/tenants`.
 *
 * @public
 */
export const tenantsPlugin = createBackendPlugin({
  pluginId: 'tenants',
  register(env) {
    let sender: InvitationSender | undefined;
    env.registerExtensionPoint(tenantInvitationsExtensionPoint, {
      setSender(added) {
        if (sender) {
          throw new Error(
            'Invitations already have a sender. Install only one module that sets it',
          );
        }
        sender = added;
      },
    });
    env.registerInit({
      deps: {
        auditor: coreServices.auditor,
        auth: coreServices.auth,
        catalog: catalogServiceRef,
        config: coreServices.rootConfig,
        directory: tenantDirectoryServiceRef,
        engines: tenantEnginesServiceRef,
        engineStore: tenantEngineStoreServiceRef,
        gates: tenantGatesServiceRef,
        httpAuth: coreServices.httpAuth,
        httpRouter: coreServices.httpRouter,
        invitations: tenantInvitationStoreServiceRef,
        logger: coreServices.logger,
        members: tenantMembersServiceRef,
        memberStore: tenantMemberStoreServiceRef,
        metrics: metricsServiceRef,
        ownership: tenantOwnershipServiceRef,
        permissions: coreServices.permissions,
        permissionsRegistry: coreServices.permissionsRegistry,
        signIns: tenantSignInStoreServiceRef,
        shares: tenantShareStoreServiceRef,
        store: tenantStoreServiceRef,
        trail: tenantAuditTrailServiceRef,
        usage: tenantUsageServiceRef,
        userInfo: coreServices.userInfo,
      },
      async init({
        auditor,
        auth,
        catalog,
        config,
        directory,
        httpAuth,
        httpRouter,
        logger,
        members,
        memberStore,
        metrics,
        permissions,
        permissionsRegistry,
        userInfo,
        ...services
      }) {
        permissionsRegistry.addPermissions(tenantPermissions);
        const administrators = new Administrators({ config, permissions });
        const tenancy = readTenancyConfig(config);
        httpRouter.use(
          createRouter({
            ...services,
            administrators,
            appUrl: (config.getOptionalString('app.baseUrl') ?? '').replace(
              /\/+$/,
              '',
            ),
            config: tenancy,
            logger,
            sender,
            identities: new IdentityCatalog({ auth, catalog, logger }),
            operation: createOperations({ auditor, httpAuth, metrics }),
            userInfo,
            members: memberStore,
            ownTenants: new OwnTenants({
              administrators,
              config: tenancy,
              logger,
              members: memberStore,
              roles: members,
              tenants: services.store,
              userInfo,
            }),
            tenantAdmins: new TenantAdmins({
              administrators,
              directory,
              logger,
              members,
              permissions,
              userInfo,
            }),
          }),
        );
      },
    });
  },
});
