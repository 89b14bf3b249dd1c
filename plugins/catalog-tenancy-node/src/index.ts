/**
 * Keeps the tenants of a catalog apart: the tenant-scoped database, the stores and
 * their services.
 *
 * @packageDocumentation
 */

export { auditChange, setAuditRecord } from './audit/auditedChange';
export { auditedTenantOf, auditFor } from './audit/auditedTenant';
export {
  type BegunAuditEvent,
  type EndedAuditEvent,
  type TenantAuditRecord,
  type TenantAuditStatement,
  type TenantAuditTrail,
} from './audit/TenantAuditTrail';
export {
  type AuditConfig,
  type AuditWebhookConfig,
} from './config/AuditConfig';
export type {
  CatalogStore,
  EntityAncestry,
  EntityOrder,
  EntityPage,
  EntityPageQuery,
  EntityPageRow,
  FacetCount,
  FacetsQuery,
  ListedEntity,
  QueryEntities,
  ReadOptions,
} from './catalog/CatalogStore';
export { hasValue, parseFilter } from './catalog/parseFilter';
export {
  purgeDeletedEntities,
  type PurgedTenant,
} from './catalog/purgeDeletedEntities';
export {
  normalizeUserRef,
  readAdministrators,
  type AdministratorsConfig,
} from './config/readAdministrators';
export {
  readTenancyConfig,
  type OperationLimits,
  type RateLimits,
  type ReplicaConfig,
  type TenancyConfig,
  type TenancyConnection,
  type TenancyPoolLimits,
} from './config/readTenancyConfig';
export { configKeys, parseConfig } from './config/parseConfig';
export { configDuration, configInteger } from './config/values';
export {
  type AdminDatabase,
  type AdminTransaction,
} from './database/AdminDatabase';
export { ADMIN_EVENT } from './database/AuditedAdminDatabase';
export { refusedValue } from './database/refusedValue';
export { PooledTenantDatabase } from './database/PooledTenantDatabase';
export {
  type TenantDatabase,
  type TenantQueryOptions,
  type TenantScope,
  type TenantSearchTable,
  type TenantTable,
  type TenantTransaction,
} from './database/TenantDatabase';
export {
  configRevisionOf,
  type TenantEngineChanges,
  type TenantEngineRecord,
} from './engines/TenantEngineRecord';
export { type TenantEngineStore } from './engines/TenantEngineStore';
export {
  type ProvidedEntity,
  type TenantEngines,
  type TenantMutation,
  type TenantEngineReport,
  type TenantEngineStatus,
} from './engines/TenantEngines';
export {
  type TenantPlugins,
  type TenantUpgradeHandler,
} from './engines/TenantPlugins';
export {
  type InvitationToSend,
  type InvitationSender,
  type TenantInvitationsExtensionPoint,
  tenantInvitationsExtensionPoint,
} from './invitations/extensionPoint';
export { type TenantInvitationStore } from './invitations/TenantInvitationStore';
export {
  normalizePrincipal,
  parsePrincipal,
  principalsOf,
  signInRefsOf,
} from './members/principals';
export {
  type Membership,
  type ListMembers,
  type PutMember,
  type TenantMember,
  type TenantMembers,
  type TenantRole,
} from './members/TenantMembers';
export { type TenantMemberStore } from './members/TenantMemberStore';
export { type TenantOwnership } from './members/TenantOwnership';
export {
  AdminAccessError,
  DatabaseStatementError,
  DatabaseTimeoutError,
  DatabaseUnavailableError,
  retryAfter,
  TenantBusyError,
  TenantReadOnlyError,
} from './pool/errors';
export { connectionOfKnex } from 'backstage-catalog-tenancy-migrations';
export { FairQueue } from './pool/FairQueue';
export { SilenceWatch } from './pool/SilenceWatch';
export { isRead } from './pool/statements';
export {
  TenancyPool,
  type BuildStatement,
  type LastStatement,
  type PoolTransaction,
  type QuerySettings,
  type TenancyPoolOptions,
  type TransactionSettings,
} from './pool/TenancyPool';
export { TenantLimits, type OwnLimits } from './pool/TenantLimits';
export { type OperationCounts } from './pool/TenantConcurrency';
export { ReadReplica, type ReplicaCounts } from './replica/ReadReplica';
export { type ReadReplicaOptions } from './replica/ReplicaWatch';
export * from './services';
export { type TenantSignInStore } from './signIn/TenantSignInStore';
export {
  type ActiveShare,
  type TenantShareStore,
} from './shares/TenantShareStore';
export { type RequestsUnderWay } from './tenants/RequestsUnderWay';
export { Coalescer, type CoalescedOptions } from './work/Coalescer';
export { type EventLoopWatch } from './work/EventLoopWatch';
export { type CatalogAdoption } from './startup/CatalogAdoption';
export { doctorExamination } from './doctor/doctorExamination';
export { examined } from './doctor/examined';
export { type Tenancy } from './startup/startTenancy';
export { TenancyHealth, type TenancyReadiness } from './startup/TenancyHealth';
export { type NotReadyReason } from './startup/TenancyStartupError';
export {
  carriedRole,
  carriedTenant,
  carryTenant,
  currentTenant,
  handleAs,
  tenantOfPolicyUser,
  withoutTenant,
  withTenant,
  withTenantOf,
} from './tenants/calls';
export {
  highestRole,
  isWithinRole,
  TENANT_ROLES,
  ANNOTATION_SHARE,
  ANNOTATION_SHARED_FROM,
  tenantConfigReadPermission,
  tenantConfigUpdatePermission,
  tenantCreatePermission,
  tenantDeletePermission,
  tenantMemberReadPermission,
  tenantMemberUpdatePermission,
  tenantPermissions,
  tenantReadPermission,
  tenantAuditReadPermission,
  tenantShareReadPermission,
  tenantShareUpdatePermission,
  tenantUpdatePermission,
} from 'backstage-plugin-tenants-common';
export {
  type TenantUsageStore,
  type TenantUsageTotals,
} from './usage/TenantUsageStore';
export { type RegistryChange } from './tenants/ChangeListener';
export {
  DEFAULT_TENANT_ID,
  DEFAULT_TENANT_SLUG,
  isTenantSlug,
  type Tenant,
  type TenantUsage,
} from './tenants/Tenant';
export {
  type ActiveTenant,
  type TenantDirectory,
} from './tenants/TenantDirectory';
export { PreconditionFailedError } from './tenants/changeTenant';
export {
  assignTenant,
  OpenTenantGate,
  type TenantGate,
  type TenantGates,
  tenantOf,
  type TenantSource,
  tenantSourceOf,
} from './tenants/TenantGate';
export {
  type CreateTenant,
  type ListTenants,
  type TenantStore,
  type UpdateTenant,
} from './tenants/TenantStore';
