import { openApiErrorSchema, openApiRef, openApiSchemas } from '@internal/http';
import {
  acceptInvitationSchema,
  catalogConfigSchema,
  catalogPrincipalSchema,
  createdInvitationSchema,
  createdTenantSchema,
  createInvitationSchema,
  createShareSchema,
  createTenantSchema,
  membershipSchema,
  openTenantSchema,
  putMemberSchema,
  putTenantSignInSchema,
  tenantAuditPageSchema,
  tenantCatalogConfigSchema,
  tenantEngineSchema,
  tenantInvitationSchema,
  tenantMemberSchema,
  tenantSchema,
  tenantShareSchema,
  tenantSharesSchema,
  tenantSignInSchema,
  tenantStatusSchema,
  tenantSummarySchema,
  tenantUsageDaySchema,
  tenantUsageSchema,
  updateShareSchema,
  updateTenantSchema,
} from 'backstage-plugin-tenants-common';

const NAMED_SCHEMAS = {
  Tenant: tenantSchema,
  CreatedTenant: createdTenantSchema,
  TenantSummary: tenantSummarySchema,
  TenantUsage: tenantUsageSchema,
  TenantUsageDay: tenantUsageDaySchema,
  TenantShare: tenantShareSchema,
  TenantShares: tenantSharesSchema,
  CreateShare: createShareSchema,
  UpdateShare: updateShareSchema,
  TenantAuditPage: tenantAuditPageSchema,
  TenantMember: tenantMemberSchema,
  TenantInvitation: tenantInvitationSchema,
  CreatedInvitation: createdInvitationSchema,
  CreateInvitation: createInvitationSchema,
  AcceptInvitation: acceptInvitationSchema,
  PutTenantSignIn: putTenantSignInSchema,
  TenantSignIn: tenantSignInSchema,
  CatalogPrincipal: catalogPrincipalSchema,
  Membership: membershipSchema,
  OpenTenant: openTenantSchema,
  CreateTenant: createTenantSchema,
  UpdateTenant: updateTenantSchema,
  PutMember: putMemberSchema,
  TenantEngine: tenantEngineSchema,
  TenantStatus: tenantStatusSchema,
  CatalogConfig: catalogConfigSchema,
  TenantCatalogConfig: tenantCatalogConfigSchema,
  Error: openApiErrorSchema,
};

/** The name of a schema under `components/schemas`. */
export type SchemaName = keyof typeof NAMED_SCHEMAS;

/** A reference to a schema under `components/schemas`. */
export const schemaRef: (name: SchemaName) => object = openApiRef;

/** The schemas of requests and responses, as JSON Schema. */
export function componentSchemas(): Record<string, object> {
  return openApiSchemas(NAMED_SCHEMAS);
}
