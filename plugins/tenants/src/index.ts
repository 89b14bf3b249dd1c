/**
 * The tenants of a portal in the browser: which one is open, and their administration.
 *
 * @packageDocumentation
 */

export { tenants as default } from './plugin';
export { tenantsApiRef } from './api';
export { tenantsTranslationRef, pagesTranslationRef } from './translation';
export { TenantSwitcher } from './openTenant/TenantSwitcher';
export { createTenantFetchMiddleware } from './openTenant/createTenantFetchMiddleware';
export { type PageTenant, pageTenantApiRef } from './openTenant/PageTenant';
