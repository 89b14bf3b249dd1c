import { createServer } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Client } from 'pg';
import { DEFAULT_TENANT_ID, DEFAULT_TENANT_SLUG } from '../../../schema/tables';

/** A request as the application got it. */
export interface Received {
  method: string;
  path: string;
  query: URLSearchParams;
  tenant?: string;
  authorization?: string;
  body?: any;
}

export interface Reply {
  status: number;
  /** Sent as JSON, unless it is a text. */
  body?: unknown;
  headers?: Record<string, string>;
}

/** Answers instead of the application, where it returns something. */
export type Misbehaviour = (
  request: Received,
  answer: () => Promise<Reply>,
) => Promise<Reply | undefined>;

const INVALID_TENANT: Reply = {
  status: 403,
  body: { error: 'Invalid tenant' },
};

/** An application over a migrated database, as far as the smoke tests need one. */
export class TestApplication {
  /** What it got since it was started. */
  readonly received: Received[] = [];
  /** Whether MULTI_TENANCY_ENABLED equals `true`. */
  flag = true;
  misbehave: Misbehaviour = async () => undefined;
  baseUrl = '';
  private readonly server: Server;

  constructor(private readonly client: Client) {
    this.server = createServer(async (req, res) => {
      const request = await parse(req);
      this.received.push(request);
      const answer = () => this.answer(request);
      const reply = (await this.misbehave(request, answer)) ?? (await answer());
      const json = typeof reply.body !== 'string';
      res.writeHead(reply.status, {
        'content-type': json ? 'application/json' : 'text/html',
        ...reply.headers,
      });
      res.end(json ? JSON.stringify(reply.body) : reply.body);
    });
  }

  async start(): Promise<this> {
    await new Promise<void>(resolve => {
      this.server.listen(0, '127.0.0.1', resolve);
    });
    const { port } = this.server.address() as AddressInfo;
    this.baseUrl = `http://127.0.0.1:${port}`;
    return this;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise(resolve => {
      this.server.close(resolve);
    });
  }

  private async answer(request: Received): Promise<Reply> {
    const tenantId = this.flag
      ? await this.resolve(request.tenant ?? DEFAULT_TENANT_SLUG)
      : DEFAULT_TENANT_ID;
    if (!tenantId) {
      return INVALID_TENANT;
    }
    const { method, path, query, body } = request;
    const [, slug] = /^\/api\/tenants\/([^/]+)$/.exec(path) ?? [];
    if (method === 'GET' && path === '/api/catalog/entities') {
      return this.list(tenantId, query);
    }
    if (method === 'POST' && path === '/api/tenants') {
      return this.create(body);
    }
    return method === 'DELETE' && slug
      ? this.delete(slug)
      : { status: 404, body: { error: { name: 'NotFoundError' } } };
  }

  private async resolve(slug: string): Promise<string | undefined> {
    const { rows } = await this.client.query(
      'select tenant_id from tenants where tenant_slug = $1 and deleted_at is null',
      [slug],
    );
    return rows[0]?.tenant_id;
  }

  private async list(id: string, query: URLSearchParams): Promise<Reply> {
    const { rows } = await this.client.query(
      `select final_entity from entities
        where tenant_id = $1 and deleted_at is null order by entity_ref`,
      [id],
    );
    const limit = Number(query.get('limit') ?? rows.length);
    const entities = rows.map(row => row.final_entity).slice(0, limit);
    return { status: 200, body: entities };
  }

  private async create(body: any): Promise<Reply> {
    const { rows } = await this.client.query(
      'insert into tenants (tenant_slug, tenant_name) values ($1, $2) returning *',
      [body.tenant_slug, body.tenant_name],
    );
    return { status: 201, body: rows[0] };
  }

  private async delete(slug: string): Promise<Reply> {
    await this.client.query(
      'update tenants set deleted_at = now() where tenant_slug = $1',
      [slug],
    );
    return { status: 204, body: '' };
  }
}

async function parse(req: IncomingMessage): Promise<Received> {
  const url = new URL(req.url ?? '/', 'http://unused');
  const body = await text(req);
  return {
    method: req.method ?? '',
    path: url.pathname,
    query: url.searchParams,
    tenant: req.headers['x-tenant-slug'] as string | undefined,
    authorization: req.headers.authorization,
    body: body ? JSON.parse(body) : undefined,
  };
}
