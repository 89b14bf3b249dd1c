import type { Executor } from '../../engine/Executor';
import { hostnameLabel, tokenTenant } from './address';
import type { Address } from './address';

// Explains why the header X-Tenant-Slug, the third source of tenant resolution, did not
// decide: the address and the token show what the sources before it name.

/** Whether the database has an active tenant of that slug. */
export async function isActiveTenant(
  executor: Executor,
  slug: string,
): Promise<boolean> {
  const rows = await executor.read(
    'select from tenants where tenant_slug = $1 and deleted_at is null',
    [slug],
  );
  return rows.length > 0;
}

/** Explains an answer to a request with the slug of no tenant. */
export async function explainUnknownResolves(
  executor: Executor,
  { baseUrl, token }: Address,
): Promise<string> {
  const label = hostnameLabel(baseUrl);
  if (label && (await isActiveTenant(executor, label))) {
    return (
      `The first label of the hostname of ${baseUrl}, "${label}", is a tenant, and ` +
      'the hostname comes before the header X-Tenant-Slug, which the smoke tests ' +
      'use. Give a base URL that names no tenant.'
    );
  }
  const claim = tokenTenant(token);
  if (claim !== undefined) {
    return `${claimComesFirst(
      claim,
    )} Set MIGRATION_TOKEN to one without that claim.`;
  }
  return (
    'The application answers for a tenant that does not exist, so it runs without ' +
    'MULTI_TENANCY_ENABLED=true, or with another value than exactly "true". Set it, ' +
    'restart every instance of the application, and run the command again.'
  );
}

/** Explains the answer `Invalid tenant` to the slug of a tenant. */
export async function explainInvalidTenant(
  executor: Executor,
  { baseUrl, token }: Address,
  slug: string,
): Promise<string> {
  const answer = `${baseUrl} answered 403 "Invalid tenant" to X-Tenant-Slug: ${slug}.`;
  const label = hostnameLabel(baseUrl);
  if (label) {
    return (
      `${answer} The hostname comes before that header, and the application takes ` +
      `its first label, "${label}", for the slug of a tenant, or does not know ` +
      'the host at all. Set app.baseUrl (or backend.baseUrl) of the application to ' +
      'this address, or add this hostname to tenancy.baseDomains; then restart it. ' +
      'Or give a --base-url whose hostname names no tenant.'
    );
  }
  const claim = tokenTenant(token);
  if (claim !== undefined) {
    return `${answer} ${claimComesFirst(
      claim,
    )} Set MIGRATION_TOKEN to one without that claim.`;
  }
  return (await isActiveTenant(executor, slug))
    ? `${answer} This database has that tenant, so the application reads the ` +
        'tenants of another database or schema. Compare its configuration with ' +
        'the connection and the --schema of this command.'
    : `${answer} The tenant is missing in the table tenants, or its deleted_at is ` +
        'set.';
}

function claimComesFirst(claim: string): string {
  return (
    `The token of MIGRATION_TOKEN names the tenant "${claim}" in its claim ` +
    'tenantSlug, which comes before the header X-Tenant-Slug.'
  );
}
