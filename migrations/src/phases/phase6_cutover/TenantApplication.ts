import { RefusedError, VerificationError } from '../../errors';
import { assertSuccess, isInvalidTenant, jsonOf } from './answers';
import type { Answer, HttpClient, Request } from './HttpClient';

// What a reference is made of, rather than whole entities.
const FIELDS = 'kind,metadata.namespace,metadata.name';

const DEFAULT_NAMESPACE = 'default';

type Query = Record<string, string> | URLSearchParams;

/** The tests send these requests; a dry run prints them. */
export const requests = {
  listEntities: (tenant: string, query: Query): Request => ({
    method: 'GET',
    path: `/api/catalog/entities?${new URLSearchParams(query)}`,
    tenant,
  }),
  createTenant: (slug: string): Request => ({
    method: 'POST',
    path: '/api/tenants',
    body: { tenant_slug: slug, tenant_name: 'Smoke test of the cutover' },
  }),
  deleteTenant: (slug: string): Request => ({
    method: 'DELETE',
    path: `/api/tenants/${slug}`,
  }),
};

/** The parameters of one page. */
export function pageQuery(
  limit: number,
  offset: number,
): Record<string, string> {
  return { limit: `${limit}`, offset: `${offset}`, fields: FIELDS };
}

/** How many requests there were, and how long each took. */
export interface Timings {
  request: string;
  milliseconds: number[];
}

/**
 * The application as the smoke tests see it. Entities are references in lower
 * case, which is how Backstage compares them.
 */
export class TenantApplication {
  /** By method and path, since the last {@link takeTimings}. */
  private timings: Timings[] = [];

  constructor(
    private readonly client: HttpClient,
    /** Says why a slug did not become the tenant of a request. */
    private readonly explainInvalidTenant: (slug: string) => Promise<string>,
  ) {}

  /** Whether a slug resolves to a tenant. */
  async resolves(slug: string): Promise<boolean> {
    const answer = await this.send(
      requests.listEntities(slug, pageQuery(1, 0)),
    );
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

  /** Those of the references which the tenant has. */
  async findEntities(slug: string, refs: string[]): Promise<string[]> {
    const query = new URLSearchParams({ fields: FIELDS });
    refs.forEach(ref => query.append('filter', filterOf(ref)));
    return this.entities(slug, query);
  }

  async createTenant(slug: string): Promise<void> {
    const answer = await this.send(requests.createTenant(slug));
    if (isInvalidTenant(answer)) {
      throw new RefusedError(await this.explainInvalidTenant('default'));
    }
    assertSuccess(this.client, answer);
  }

  async deleteTenant(slug: string): Promise<void> {
    assertSuccess(this.client, await this.send(requests.deleteTenant(slug)));
  }

  takeTimings(): Timings[] {
    const taken = this.timings;
    this.timings = [];
    return taken;
  }

  private async entities(slug: string, query: Query): Promise<string[]> {
    const answer = await this.send(requests.listEntities(slug, query));
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

  private async send(request: Request): Promise<Answer> {
    const answer = await this.client.send(request);
    const name = `${request.method} ${request.path.replace(/\?.*/, '')}`;
    const known = this.timings.find(timing => timing.request === name);
    if (known) {
      known.milliseconds.push(answer.milliseconds);
    } else {
      this.timings.push({
        request: name,
        milliseconds: [answer.milliseconds],
      });
    }
    return answer;
  }
}

/** As Backstage compares references. */
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
