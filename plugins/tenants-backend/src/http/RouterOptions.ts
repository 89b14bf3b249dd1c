import type {
  LoggerService,
  UserInfoService,
} from '@backstage/backend-plugin-api';
import type {
  InvitationSender,
  TenancyConfig,
  TenantAuditTrail,
  TenantEngines,
  TenantEngineStore,
  TenantGates,
  TenantInvitationStore,
  TenantMemberStore,
  TenantOwnership,
  TenantShareStore,
  TenantSignInStore,
  TenantStore,
  TenantUsageStore,
} from 'backstage-plugin-catalog-tenancy-node';
import type { Administrators } from '../authorization/Administrators';
import type { OwnTenants } from '../authorization/OwnTenants';
import type { TenantAdmins } from '../authorization/TenantAdmins';
import type { IdentityCatalog } from '../identity/IdentityCatalog';
import type { MakeOperation } from './operations';

/** What the routes need. */
export interface RouterOptions {
  administrators: Administrators;
  /** The URL of the app, for links. */
  appUrl: string;
  config: TenancyConfig;
  engines: TenantEngines;
  engineStore: TenantEngineStore;
  gates: TenantGates;
  identities: IdentityCatalog;
  invitations: TenantInvitationStore;
  logger: LoggerService;
  members: TenantMemberStore;
  operation: MakeOperation;
  ownership: TenantOwnership;
  ownTenants: OwnTenants;
  /** Undefined if no module sends invitations. */
  sender?: InvitationSender;
  shares: TenantShareStore;
  signIns: TenantSignInStore;
  store: TenantStore;
  tenantAdmins: TenantAdmins;
  trail: TenantAuditTrail;
  usage: TenantUsageStore;
  userInfo: UserInfoService;
}
