import { RefusedError, VerificationError } from '../../errors';
import type { Answer, HttpClient } from './HttpClient';

// The parts of a reference, instead of whole entities.
const FIELDS = 'kind,metadata.namespace,metadata.name';

const DEFAULT_NAMESPACE = 'default';

/** Advice for statuses with which the smoke tests refuse; every other one fails them. */
const ADVICE: Record<number, ((client: HttpClient) => string) | undefined> = {
  401: ({ token }) =>
    token
      ? 'the application does not accept the token of MIGRATION_TOKEN. Set it to a ' +
        'bearer token that is valid now.'
      : 'the application asks for credentials. Set MIGRATION_TOKEN to a bearer token ' +
        'of a user who may read the catalog and administer tenants.',
  403: ({ token }) =>
    `${
      token ? 'the owner of MIGRATION_TOKEN' : 'a request without a token'
    } may not do this. Set MIGRATION_TOKEN to a bearer token of a user who may ` +
    'read the catalog and administer tenants (tenancy.admins).',
  404: () =>
    'there is no such route. Expected a base URL to which /api/catalog and ' +
    '/api/tenants can be added, and a backend that has both.',
  503: () =>
    'the application is not ready, or does not reach its database. Look into its ' +
    'log, and run the command again.',
  429: () => 'it gets too many requests. Wait, and run the command again.',
};

/**
 * The requests of the smoke tests. Entities are references in lower case, as Backstage
 * compares them.
 */
export class TenantApplication {
  constructor(
    private readonly client: HttpClient,
    /** Explains why a slug did not resolve to a tenant. */
    private readonly explainInvalidTenant: (slug: string) => Promise<string>,
  ) {}

  /** Whether a slug resolves to a tenant. */
  async resolves(slug: string): Promise<boolean> {
    const answer = await this.list(slug, pageQuery(1, 0));
    if (isInvalidTenant(answer)) {
      return false;
    }
    this.entitiesOf(answer);
    return true;
  }

  /** A page of a tenant's entities, in the order of the application. */
  async listEntities(
    slug: string,
    limit: number,
    offset: number,
  ): Promise<string[]> {
    return this.entities(slug, pageQuery(limit, offset));
  }

  /** Those of the references that the tenant has. */
  async findEntities(slug: string, refs: string[]): Promise<string[]> {
    const query = new URLSearchParams({ fields: FIELDS });
    refs.forEach(ref => query.append('filter', filterOf(ref)));
    return this.entities(slug, query);
  }

  async createTenant(slug: string): Promise<void> {
    const answer = await this.client.send({
      method: 'POST',
      path: '/api/tenants',
      body: {
        tenant_slug: slug,
        tenant_name: 'Smoke test of the cutover',
        // An engine would make tables, which stay until the purge.
        engine: false,
      },
    });
    if (isInvalidTenant(answer)) {
      throw new RefusedError(await this.explainInvalidTenant('default'));
    }
    assertSuccess(this.client, answer);
  }

  async deleteTenant(slug: string): Promise<void> {
    const path = `/api/tenants/${slug}`;
    const answer = await this.client.send({ method: 'DELETE', path });
    assertSuccess(this.client, answer);
  }

  private list(tenant: string, query: URLSearchParams): Promise<Answer> {
    const path = `/api/catalog/entities?${query}`;
    return this.client.send({ method: 'GET', path, tenant });
  }

  private async entities(
    slug: string,
    query: URLSearchParams,
  ): Promise<string[]> {
    const answer = await this.list(slug, query);
    if (isInvalidTenant(answer)) {
      throw new RefusedError(await this.explainInvalidTenant(slug));
    }
    return this.entitiesOf(answer);
  }

  private entitiesOf(answer: Answer): string[] {
    const json = jsonOf(this.client, answer);
    const refs = Array.isArray(json) ? json.map(refOf) : [undefined];
    if (refs.includes(undefined)) {
      throw new VerificationError(
        `${answer.request} answered something else than a list of entities: ` +
          `"${this.client.excerpt(
            answer,
          )}". Expected an array of objects with ` +
          'kind and metadata.name.',
      );
    }
    return refs as string[];
  }
}

/** A reference in the form in which Backstage compares them. */
export function canonicalRef(ref: string): string {
  return ref.toLocaleLowerCase('en-US');
}

function refOf(entity: unknown): string | undefined {
  const { kind, metadata } = (entity ?? {}) as {
    kind?: unknown;
    metadata?: { namespace?: unknown; name?: unknown };
  };
  const namespace = metadata?.namespace ?? DEFAULT_NAMESPACE;
  return typeof kind === 'string' && typeof metadata?.name === 'string'
    ? canonicalRef(`${kind}:${namespace}/${metadata.name}`)
    : undefined;
}

function filterOf(ref: string): string {
  const [, kind, namespace, name] = /^([^:]*):([^/]*)\/(.*)$/s.exec(ref) ?? [];
  return `kind=${kind},metadata.namespace=${namespace},metadata.name=${name}`;
}

/** The parameters of one page. */
function pageQuery(limit: number, offset: number): URLSearchParams {
  return new URLSearchParams({
    limit: `${limit}`,
    offset: `${offset}`,
    fields: FIELDS,
  });
}

/** Whether tenant resolution found no active tenant (specification, Errors). */
function isInvalidTenant(answer: Answer): boolean {
  return (
    answer.status === 403 &&
    (parse(answer.body) as { error?: unknown } | undefined)?.error ===
      'Invalid tenant'
  );
}

/**
 * The JSON of an answer that is a success.
 *
 * @throws {@link RefusedError} for a status with advice
 * @throws {@link VerificationError} for every other failure
 */
function jsonOf(client: HttpClient, answer: Answer): unknown {
  assertSuccess(client, answer);
  const json = parse(answer.body);
  if (json === undefined) {
    throw new VerificationError(
      `${answer.request} answered ${answer.status} with ` +
        `${answer.contentType || 'no type'} instead of JSON: "${client.excerpt(
          answer,
        )}". Is ` +
        'the base URL the address of the backend, rather than of a login page or ' +
        'the frontend?',
    );
  }
  return json;
}

/** As {@link jsonOf}, for an answer whose body does not matter. */
function assertSuccess(client: HttpClient, answer: Answer): void {
  const { status, request, location } = answer;
  if (status >= 200 && status < 300) {
    return;
  }
  if (status >= 300 && status < 400) {
    throw new RefusedError(
      `${request} answered ${status}, a redirect to ${
        location ?? 'nowhere'
      }. ` +
        'Expected the address at which the application itself answers (--base-url).',
    );
  }
  const advice = ADVICE[status]?.(client);
  if (advice) {
    throw new RefusedError(
      `${request} answered ${status}: ${advice}${said(client, answer)}`,
    );
  }
  throw new VerificationError(
    `${request} answered ${status}. Look into the application's log.` +
      `${said(client, answer)}`,
  );
}

function said(client: HttpClient, answer: Answer): string {
  const text = client.excerpt(answer);
  return text ? ` It said: ${text}` : '';
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
