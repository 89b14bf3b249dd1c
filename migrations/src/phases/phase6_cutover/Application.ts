import { RefusedError, VerificationError } from '../../errors';
import type { MigrationSettings } from '../../engine/Step';

const TIMEOUT_MS = 30_000;

const LISTED = 100;

// The parts of a reference, instead of whole entities.
const LIST = `/api/catalog/entities?limit=${LISTED}&fields=kind,metadata.namespace,metadata.name`;

const CREDENTIALS =
  'Set MIGRATION_TOKEN to a bearer token of a user who may read the catalog and administer tenants.';

const BASE_URL =
  'Expected the --base-url of the backend, below which /api/catalog and /api/tenants are.';

/** Advice for statuses with which the smoke tests refuse; every other one fails them. */
const ADVICE: Record<number, string> = {
  301: BASE_URL,
  302: BASE_URL,
  401: CREDENTIALS,
  403: CREDENTIALS,
  404: BASE_URL,
  503: "Look into the application's log, and run the command again.",
};

/** The name of the tenant that the smoke tests create. */
export const SMOKE_TENANT = 'Smoke test of the cutover';

interface Answer {
  /** `GET https://portal.example.com/api/tenants`. */
  request: string;
  status: number;
  /** Undefined if the body is not JSON. */
  json: unknown;
}

/**
 * The requests of the smoke tests. No error shows what the application answered, which may
 * repeat the token.
 */
export class Application {
  readonly baseUrl: string;
  private readonly token: string | undefined;

  constructor(settings: MigrationSettings) {
    this.baseUrl = requireBaseUrl(settings);
    this.token = settings.cutover?.token?.trim();
  }

  /**
   * References of a tenant's first entities, in lower case as Backstage compares them;
   * undefined if the slug resolves to no tenant.
   */
  async listEntities(tenant: string): Promise<string[] | undefined> {
    const answer = await this.send('GET', LIST, {
      headers: { 'x-tenant-slug': tenant },
    });
    const body = answer.json as { error?: unknown } | undefined;
    // Tenant resolution has found no active tenant (specification, Errors).
    if (answer.status === 403 && body?.error === 'Invalid tenant') {
      return undefined;
    }
    assertSuccess(answer);
    if (!Array.isArray(answer.json)) {
      throw new VerificationError(
        `${answer.request} did not answer a list of entities. ${BASE_URL}`,
      );
    }
    return answer.json.map(refOf);
  }

  async createTenant(slug: string): Promise<void> {
    assertSuccess(
      await this.send('POST', '/api/tenants', {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          tenant_slug: slug,
          tenant_name: SMOKE_TENANT,
        }),
      }),
    );
  }

  /** Marks a tenant as deleted. */
  async deleteTenant(slug: string): Promise<void> {
    assertSuccess(await this.send('DELETE', `/api/tenants/${slug}`));
  }

  private async send(
    method: string,
    path: string,
    { headers, ...init }: RequestInit = {},
  ): Promise<Answer> {
    const request = `${method} ${this.baseUrl}${path.replace(/\?.*/, '')}`;
    try {
      const response = await fetch(`${this.baseUrl}${path}`, {
        ...init,
        method,
        headers: {
          ...headers,
          ...(this.token ? { authorization: `Bearer ${this.token}` } : {}),
        },
        // A redirect would test another address.
        redirect: 'manual',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      const json = await response.json().catch(() => undefined);
      return { request, status: response.status, json };
    } catch (error) {
      const { cause, name } = error as { cause?: unknown; name: string };
      const code = (cause as { code?: string } | undefined)?.code ?? name;
      throw new RefusedError(
        `${request} got no answer (${code}). Run the command again when the application has started at that address.`,
      );
    }
  }
}

/** @throws {@link RefusedError} if the operator gave none */
export function requireBaseUrl({ cutover }: MigrationSettings): string {
  if (!cutover?.baseUrl) {
    throw new RefusedError(
      'The smoke tests need the address of the application. Set MULTI_TENANCY_ENABLED=true, restart it, and give --base-url <url>.',
    );
  }
  return cutover.baseUrl;
}

function assertSuccess({ request, status }: Answer): void {
  if (status >= 200 && status < 300) {
    return;
  }
  if (ADVICE[status]) {
    throw new RefusedError(`${request} answered ${status}. ${ADVICE[status]}`);
  }
  throw new VerificationError(
    `${request} answered ${status}. Look into the application's log.`,
  );
}

function refOf(entity: {
  kind?: string;
  metadata?: { namespace?: string; name?: string };
}): string {
  const { kind, metadata = {} } = entity;
  const ref = `${kind}:${metadata.namespace ?? 'default'}/${metadata.name}`;
  return ref.toLocaleLowerCase('en-US');
}
