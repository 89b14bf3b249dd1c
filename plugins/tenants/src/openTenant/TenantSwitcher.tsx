/**
 * The name of the tenant that is open in this page, for the sidebar of an app, with a menu of
 * the tenants that its user may enter. It is nothing while multi-tenancy is off.
 *
 * @public
 */
export function TenantSwitcher() {
  return null;
}
