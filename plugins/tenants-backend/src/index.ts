/**
 * The registry of tenants as a backend plugin.
 *
 * @packageDocumentation
 */

export { tenantsPlugin as default } from './plugin';
