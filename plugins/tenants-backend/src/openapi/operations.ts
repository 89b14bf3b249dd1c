import {
  openApiAnswer as answer,
  openApiHeader,
  openApiIdempotencyKey,
  type OpenApiOperations,
  openApiPage,
  openApiQuery,
  openApiRef,
  type SchemaNameOf,
} from '@internal/http';
import {
  findPrincipalsSchema,
  listTenantAuditSchema,
  listTenantsQuerySchema,
  listTenantUsageSchema,
  pageSchema,
} from 'backstage-plugin-tenants-common';
import type * as common from 'backstage-plugin-tenants-common';

type SchemaName = SchemaNameOf<typeof common>;

const page = openApiQuery(pageSchema);
const created = (schema: SchemaName) =>
  answer(schema, schema, {
    Location: openApiHeader('The path of what was created'),
  });
const tagged = (schema: SchemaName) =>
  answer(schema, schema, {
    ETag: openApiHeader(
      'Identifies this state of the configuration; absent if the operator configures the engine',
    ),
  });

const replacingKey = {
  ...openApiIdempotencyKey,
  description:
    'A further request of a user with the same key replaces what the first one created',
};

/** All operations by path and method, with the errors that these do not tell. */
const OPERATIONS: OpenApiOperations<SchemaName> = {
  '/': {
    get: {
      summary:
        'List tenants, ordered by slug; with summary=true at most 100, with their state and entities',
      parameters: openApiQuery(listTenantsQuerySchema),
      success: {
        200: openApiPage({
          anyOf: [openApiRef('Tenant'), openApiRef('TenantSummary')],
        }),
      },
    },
    post: {
      summary: 'Create a tenant',
      parameters: [openApiIdempotencyKey],
      body: 'CreateTenant',
      success: { 201: created('CreatedTenant') },
      errors: [409],
    },
  },
  '/mine': {
    get: {
      summary: 'List the tenants that the caller may enter, ordered by slug',
      parameters: page,
      success: { 200: openApiPage('Membership') },
      errors: [400],
    },
  },
  '/mine/current': {
    get: {
      summary: 'Get the tenant that the request belongs to, for its caller',
      success: {
        200: 'OpenTenant',
        403: answer('The caller may not enter it', {
          type: 'object',
          properties: { error: { const: 'Invalid tenant' } },
          required: ['error'],
        }),
      },
    },
  },
  '/mine/accepted-invitations': {
    post: {
      summary: 'Accept an invitation into a tenant',
      body: 'AcceptInvitation',
      success: { 201: 'Membership' },
      errors: [403, 404, 412, 501, 503],
    },
  },
  '/{slug}': {
    get: {
      summary: 'Get a tenant, also a deleted one',
      success: { 200: 'Tenant' },
    },
    patch: {
      summary: 'Change the name or the limits of a tenant',
      body: 'UpdateTenant',
      success: { 200: 'Tenant' },
    },
    delete: {
      summary: 'Delete a tenant, which keeps its rows and can be restored',
      success: { 204: {} },
      errors: [409],
    },
  },
  '/{slug}/restore': {
    post: {
      summary: 'Make a deleted tenant active again',
      success: { 200: 'Tenant' },
      errors: [409],
    },
  },
  '/{slug}/usage': {
    get: {
      summary:
        'Get the counts and limits of a tenant; with a query, its usage by day',
      parameters: [
        ...openApiQuery(listTenantUsageSchema),
        format('json', 'csv'),
      ],
      success: {
        200: answer('The counts, or the days', {
          anyOf: [
            openApiRef('TenantUsage'),
            { type: 'array', items: openApiRef('TenantUsageDay') },
          ],
        }),
      },
    },
  },
  '/{slug}/shares': {
    get: {
      summary: 'List what a tenant shares with others, and what it receives',
      success: { 200: 'TenantShares' },
    },
    post: {
      summary: 'Share entities of a tenant with others',
      parameters: [replacingKey],
      body: 'CreateShare',
      success: { 201: created('TenantShare') },
      errors: [409],
    },
  },
  '/{slug}/shares/{share}': {
    patch: {
      summary: 'Change what is shared, or with whom',
      body: 'UpdateShare',
      success: { 200: 'TenantShare' },
    },
    delete: {
      summary: 'End a share',
      success: { 204: { description: 'Its copies follow within seconds' } },
    },
  },
  '/{slug}/audit': {
    get: {
      summary: 'List the audit events of a tenant, newest first',
      parameters: [
        ...openApiQuery(listTenantAuditSchema),
        format('json', 'jsonl'),
      ],
      success: {
        200: answer(
          'A page; with format=jsonl all events, one a line',
          'TenantAuditPage',
        ),
      },
    },
  },
  '/{slug}/members': {
    get: {
      summary: 'List the members of a tenant, ordered by principal',
      parameters: page,
      success: { 200: openApiPage('TenantMember') },
    },
  },
  '/{slug}/invitations': {
    get: {
      summary: 'List the invitations of a tenant, the newest first',
      parameters: page,
      success: { 200: openApiPage('TenantInvitation') },
    },
    post: {
      summary: 'Invite somebody into a tenant',
      parameters: [replacingKey],
      body: 'CreateInvitation',
      success: {
        201: answer(
          'The invitation, with the token that accepts it, which is shown only once',
          'CreatedInvitation',
        ),
      },
      errors: [409],
    },
  },
  '/{slug}/invitations/{id}': {
    delete: {
      summary: 'Remove an invitation',
      success: { 204: {} },
    },
  },
  '/{slug}/sign-in': {
    get: {
      summary: 'Get the OpenID provider of a tenant',
      success: {
        200: answer('The provider, or null where there is none', {
          anyOf: [openApiRef('TenantSignIn'), { type: 'null' }],
        }),
      },
    },
    put: {
      summary: 'Set or replace the OpenID provider of a tenant',
      body: 'PutTenantSignIn',
      success: { 200: 'TenantSignIn' },
      errors: [409],
    },
    delete: {
      summary: 'Remove the OpenID provider of a tenant',
      success: { 204: {} },
    },
  },
  '/{slug}/principals': {
    get: {
      summary:
        'Find users and groups of the identity catalog, ordered by name, with the rights of the caller',
      parameters: openApiQuery(findPrincipalsSchema),
      success: {
        200: answer('Matching users and groups', 'CatalogPrincipal[]', {
          'X-Total-Count': openApiHeader('How many match', 'integer'),
        }),
      },
    },
  },
  '/{slug}/members/{principal}': {
    get: {
      summary: 'Get a member of a tenant',
      success: { 200: 'TenantMember' },
    },
    put: {
      summary: 'Add a member to a tenant, or change the role of one',
      body: 'PutMember',
      success: {
        200: 'TenantMember',
        201: created('TenantMember'),
      },
      errors: [409],
    },
    delete: {
      summary: 'Remove a member of a tenant',
      success: { 204: {} },
      errors: [409],
    },
  },
  '/{slug}/status': {
    get: {
      summary:
        'Get the state of the engine of a tenant, its lag and its errors',
      success: { 200: 'TenantStatus' },
    },
  },
  '/{slug}/engine/pause': {
    put: {
      summary: 'Pause an engine: it ingests nothing and runs no scheduled task',
      success: { 204: {} },
    },
    delete: {
      summary: 'Resume an engine',
      success: { 204: {} },
    },
  },
  '/{slug}/catalog-config': {
    get: {
      summary: "Get the configuration of a tenant's engine",
      success: { 200: tagged('TenantCatalogConfig') },
    },
    put: {
      summary: "Replace the configuration of a tenant's engine",
      parameters: [
        { name: 'If-Match', in: 'header', schema: { type: 'string' } },
      ],
      body: 'CatalogConfig',
      success: { 200: tagged('TenantCatalogConfig') },
      errors: [409],
    },
  },
};

function format(...names: string[]) {
  return { name: 'format', in: 'query', schema: { enum: names } };
}

/** All operations of the plugin, by path and method. */
export const operations: typeof OPERATIONS = Object.fromEntries(
  Object.entries(OPERATIONS).map(([path, methods]) => [
    path,
    Object.fromEntries(
      Object.entries(methods).map(([method, operation]) => [
        method,
        {
          ...operation,
          errors: [...errorsOf(path, method), ...(operation.errors ?? [])],
        },
      ]),
    ),
  ]),
);

function errorsOf(path: string, method: string): number[] {
  return path.startsWith('/mine')
    ? []
    : [
        ...[400, 403],
        ...(path.startsWith('/{slug}') ? [404] : []),
        ...(method === 'get' ? [] : [412, 501]),
      ];
}
