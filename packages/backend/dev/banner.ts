import { Settings } from './settings';

/** The second tenant of a portal in development. */
export const SAMPLE_SLUG = 'acme';

/** What a person wants to know once everything runs. */
export function banner(
  settings: Settings,
  options: {
    /** Where the embedded database has its data, if it is used. */
    embedded?: string;
    /** Whether the backend serves pages. */
    hasPages: boolean;
  },
): string {
  const { baseUrl, tenancy } = settings;
  const tenants = tenancy.enabled ? `${baseUrl}/api/tenants` : 'off';
  const database = options.embedded
    ? `embedded PostgreSQL, data in ${options.embedded}`
    : `your own: ${settings.ownDatabase}`;
  const about = [
    ...(options.hasPages ? [`Portal    ${baseUrl}`] : []),
    ...(options.hasPages && settings.hasGuest
      ? [`          ${whoSignsIn(tenancy)}`]
      : []),
    `Catalog   ${baseUrl}/api/catalog/entities`,
    `Tenants   ${tenants}`,
    `Mockups   ${baseUrl}/api/mockup/mockups`,
    `Database  ${database}`,
  ];
  return [
    '',
    ...about.map((line, nr) => `${nr === 0 ? 'Ready.' : '      '}  ${line}`),
    '',
    ...(settings.hasGuest ? firstRequest(settings) : []),
    'Ctrl-C stops everything and keeps the data.',
    '',
    '',
  ].join('\n');
}

function whoSignsIn({ enabled }: Settings['tenancy']): string {
  return enabled
    ? 'Open it, and sign in as Anna, of Acme, as Peter, of Initech, or as an administrator.'
    : 'Open it, and sign in.';
}

function firstRequest(settings: Settings): string[] {
  return [
    'Or ask the API, in another terminal:',
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
