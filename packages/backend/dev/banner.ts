import { Settings } from './settings';

/** What a person wants to know once everything runs. */
export function banner(settings: Settings, embedded?: string): string {
  const { baseUrl, tenancy } = settings;
  const tenants = tenancy.enabled
    ? `${baseUrl}/api/tenants`
    : 'off (MULTI_TENANCY_ENABLED=true npm start)';
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
    ...(settings.hasGuest ? firstRequest(baseUrl) : []),
    'Ctrl-C stops everything and keeps the data.',
    '',
    '',
  ].join('\n');
}

function firstRequest(baseUrl: string): string[] {
  return [
    'Try it in another terminal:',
    '',
    ...firstCommands(baseUrl).map(command => `  ${command}`),
    '',
  ];
}

/** Gets a token as the guest, and creates a mockup with it. */
export function firstCommands(baseUrl: string): string[] {
  return [
    `TOKEN=$(curl -s ${baseUrl}/api/auth/guest/refresh | sed -n 's/.*"token": *"\\([^"]*\\)".*/\\1/p')`,
    `curl -s ${baseUrl}/api/mockup/mockups -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '{"name":"My first mockup"}'`,
  ];
}
