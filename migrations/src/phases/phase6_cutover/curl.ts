import type { Address } from './address';
import type { Request } from './HttpClient';

/**
 * A request as a command line of a shell. The token stays in its variable, because
 * scripts are kept.
 */
export function asCurl(
  { baseUrl, token }: Address,
  { method, path, tenant, body }: Request,
): string {
  return [
    'curl --fail-with-body --silent --show-error',
    ...(method === 'GET' ? [] : [`--request ${method}`]),
    ...(token ? ['--header "Authorization: Bearer $MIGRATION_TOKEN"'] : []),
    ...(tenant ? [`--header ${quote(`X-Tenant-Slug: ${tenant}`)}`] : []),
    ...(body === undefined
      ? []
      : [
          `--header ${quote('Content-Type: application/json')}`,
          `--data ${quote(JSON.stringify(body))}`,
        ]),
    quote(`${baseUrl}${path}`),
  ].join(' ');
}

function quote(text: string): string {
  return `'${text.replace(/'/g, `'\\''`)}'`;
}
