import { Validator } from '@seriousme/openapi-schema-validator';
import {
  parseAcceptInvitation,
  parseCatalogConfig,
  parseCreateInvitation,
  parseCreateShare,
  parseCreateTenant,
  parseFindPrincipals,
  parseListMembers,
  parseListTenants,
  parsePutMember,
  parsePutTenantSignIn,
  parseUpdateShare,
  parseUpdateTenant,
} from 'backstage-plugin-catalog-tenancy-node';
import type express from 'express';
import { createRouter } from '../http/createRouter';
import { createOpenApiDocument } from './createOpenApiDocument';
import { OPERATIONS } from './operations';
import { SCHEMAS } from './schemas';

type Document = { paths: Record<string, Record<string, unknown>> };

const document = createOpenApiDocument() as Document;

describe('the OpenAPI document', () => {
  it('is valid OpenAPI 3.1', async () => {
    const validator = new Validator();
    const result = await validator.validate(structuredClone(document));
    expect(result.errors).toBeUndefined();
    expect(result.valid).toBe(true);
    expect(validator.version).toBe('3.1');
  });

  it('describes every route of the plugin, and no other', () => {
    const handler: express.RequestHandler = () => {};
    // No route is called: the router only has to be made.
    const options = { operation: () => [handler] } as unknown as Parameters<
      typeof createRouter
    >[0];
    const served = createRouter(options)
      .stack.flatMap(({ route }) =>
        route
          ? route.stack.map(
              ({ method }) =>
                `${method} ${route.path.replace(/:(\w+)/g, '{$1}')}`,
            )
          : [],
      )
      .filter(route => route !== 'get /openapi.json');
    const described = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.keys(item)
        .filter(key => key !== 'parameters')
        .map(method => `${method} ${path}`),
    );
    expect([...new Set(served)].sort()).toEqual(described.sort());
    expect(served).not.toHaveLength(0);
  });

  it('names the fields that requests may have, and no others', () => {
    const valid = {
      tenant_name: 'Acme',
      max_entities: 1,
      entity_ttl_days: 1,
      concurrency: 1,
      requests_per_second: 1,
      burst: 1,
    };
    const share = {
      targets: 'all',
      filter: ['kind=api'],
      owner: null,
      position: 1,
    };
    const requests = {
      CreateTenant: [parseCreateTenant, { tenant_slug: 'acme', ...valid }],
      UpdateTenant: [parseUpdateTenant, valid],
      CreateInvitation: [
        parseCreateInvitation,
        { role: 'viewer', email: 'a@example.com', valid_days: 1 },
      ],
      AcceptInvitation: [parseAcceptInvitation, { token: 't' }],
      PutTenantSignIn: [
        parsePutTenantSignIn,
        {
          issuer: 'https://id.example.com',
          client_id: 'portal',
          client_secret: '${SECRET}',
          scopes: ['offline_access'],
          allowed_domains: ['example.com'],
          auto_join: 'viewer',
          name_claim: 'name',
          email_claim: 'email',
          groups_claim: 'groups',
          roles: { staff: 'member' },
        },
      ],
      PutMember: [parsePutMember, { role: 'admin' }],
      CatalogConfig: [parseCatalogConfig, {}],
      CreateShare: [parseCreateShare, share],
      UpdateShare: [parseUpdateShare, share],
    } as const;
    for (const [name, [parse, request]] of Object.entries(requests)) {
      const { properties } = SCHEMAS[name as keyof typeof requests];
      expect(Object.keys(parse(request)).sort()).toEqual(
        Object.keys(properties).sort(),
      );
    }
  });

  it('names the parameters of lists, with their defaults', () => {
    const defaults = (path: string) =>
      Object.fromEntries(
        (OPERATIONS[path].get.parameters as any[]).map(({ name, schema }) => [
          name,
          schema.default,
        ]),
      );
    expect(defaults('/')).toEqual({
      ...parseListTenants({}),
      summary: false,
      state: undefined,
      orderBy: 'slug',
    });
    expect(defaults('/mine')).toEqual(parseListMembers({}));
    expect(defaults('/{slug}/members')).toEqual(parseListMembers({}));
    expect(defaults('/{slug}/principals')).toEqual({
      ...parseFindPrincipals({}),
      search: undefined,
      principal: undefined,
    });
  });
});
