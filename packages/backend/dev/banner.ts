import { Settings } from './settings';

/** The second tenant of a portal in development. */
export const SAMPLE_SLUG = 'acme';

/** What a person wants to know once everything runs. */
export function banner(settings: Settings, embedded?: string): string {
  const { baseUrl, tenancy } = settings;
  const tenants = tenancy.enabled
    ? `${baseUrl}/api/tenants`
    : `off (${explainOff(tenancy)})`;
  const database = embedded
    ? `embedded PostgreSQL, data in ${embedded}`
    : `your own: ${settings.ownDatabase}`;
  return [
    '',
    `Ready.  Mockups   ${baseUrl}/api/mockup/mockups`,
    `        Catalog   ${baseUrl}/api/catalog/entities`,
    `        Tenants   ${tenants}`,
    `        Database  ${database}`,
    '',
    ...(settings.hasGuest ? firstRequest(settings) : []),
    'Ctrl-C stops everything and keeps the data.',
    '',
    '',
  ].join('\n');
}

function explainOff({ misspeltFlag }: Settings['tenancy']): string {
  return misspeltFlag === undefined
    ? 'leave out MULTI_TENANCY_ENABLED=false'
    : `MULTI_TENANCY_ENABLED is "${misspeltFlag}", which is not "true"`;
}

function firstRequest(settings: Settings): string[] {
  return [
    'Try it in another terminal:',
    '',
    ...firstCommands(settings).map(command => `  ${command}`),
    '',
  ];
}

/**
 * Gets a token as the guest, asks the same URL for two tenants if there are any, and
 * creates a mockup.
 */
export function firstCommands({
  baseUrl,
  tenancy,
}: {
  baseUrl: string;
  tenancy: { enabled: boolean };
}): string[] {
  const auth = `-H "Authorization: Bearer $TOKEN"`;
  const components = `curl -sw '\\n' '${baseUrl}/api/catalog/entities?filter=kind=component&fields=metadata.name' ${auth}`;
  return [
    `TOKEN=$(curl -s ${baseUrl}/api/auth/guest/refresh | sed -n 's/.*"token": *"\\([^"]*\\)".*/\\1/p')`,
    components,
    ...(tenancy.enabled
      ? [`${components} -H 'X-Tenant-Slug: ${SAMPLE_SLUG}'`]
      : []),
    `curl -s ${baseUrl}/api/mockup/mockups ${auth} -H 'Content-Type: application/json' -d '{"name":"My first mockup"}'`,
  ];
}
