import {
  OPEN_API_PAGE_HEADERS as pageHeaders,
  openApiAnswer as answer,
  openApiHeader,
  openApiQuery,
  type OpenApiOperations,
} from '@internal/http';
import {
  findPrincipalsSchema,
  listTenantAuditSchema,
  listTenantsQuerySchema,
  listTenantUsageSchema,
  pageSchema,
} from 'backstage-plugin-tenants-common';
import { type SchemaName, schemaRef } from './schemas';

const page = openApiQuery(pageSchema);
const location = { Location: openApiHeader('The path of what was created') };
const tag = {
  ETag: openApiHeader(
    'Identifies this state of the configuration; absent if the operator configures the engine',
  ),
};

/** All operations of the plugin, by path and method. */
export const OPERATIONS: OpenApiOperations<SchemaName> = {
  '/': {
    get: {
      summary: 'List tenants, ordered by slug',
      parameters: openApiQuery(listTenantsQuerySchema),
      success: {
        200: answer(
          'A page of tenants; with summary=true at most 100, with their state and entities',
          {
            type: 'array',
            items: { anyOf: [schemaRef('Tenant'), schemaRef('TenantSummary')] },
          },
          pageHeaders,
        ),
      },
      errors: [400, 403],
    },
    post: {
      summary: 'Create a tenant',
      body: 'CreateTenant',
      success: {
        201: answer('The new tenant', schemaRef('CreatedTenant'), location),
      },
      errors: [403, 409, 501],
    },
  },
  '/mine': {
    get: {
      summary: 'List the tenants that the caller may enter, ordered by slug',
      parameters: page,
      success: {
        200: answer('A page of them', listOf('Membership'), pageHeaders),
      },
      errors: [400],
    },
  },
  '/mine/current': {
    get: {
      summary: 'Get the tenant that the request belongs to, for its caller',
      success: { 200: answer('The tenant', schemaRef('OpenTenant')) },
      errors: [403],
    },
  },
  '/mine/accepted-invitations': {
    post: {
      summary: 'Accept an invitation into a tenant',
      body: 'AcceptInvitation',
      success: {
        201: answer('The tenant, and the role', schemaRef('Membership')),
      },
      errors: [403, 404, 501, 503],
    },
  },
  '/{slug}': {
    get: {
      summary: 'Get a tenant, also a deleted one',
      success: { 200: answer('The tenant', schemaRef('Tenant')) },
      errors: [403, 404],
    },
    patch: {
      summary: 'Change the name or the limits of a tenant',
      body: 'UpdateTenant',
      success: { 200: answer('The changed tenant', schemaRef('Tenant')) },
      errors: [403, 404, 501],
    },
    delete: {
      summary: 'Delete a tenant, which keeps its rows and can be restored',
      success: { 204: answer('It no longer resolves') },
      errors: [403, 404, 409, 501],
    },
  },
  '/{slug}/restore': {
    post: {
      summary: 'Make a deleted tenant active again',
      success: { 200: answer('The tenant', schemaRef('Tenant')) },
      errors: [403, 404, 501],
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
          anyOf: [schemaRef('TenantUsage'), listOf('TenantUsageDay')],
        }),
      },
      errors: [400, 403, 404],
    },
  },
  '/{slug}/shares': {
    get: {
      summary: 'List what a tenant shares with others, and what it receives',
      success: { 200: answer('The shares', schemaRef('TenantShares')) },
      errors: [403, 404],
    },
    post: {
      summary: 'Share entities of a tenant with others',
      body: 'CreateShare',
      success: {
        201: answer('The new share', schemaRef('TenantShare'), location),
      },
      errors: [403, 404, 409, 501],
    },
  },
  '/{slug}/shares/{share}': {
    patch: {
      summary: 'Change what is shared, or with whom',
      body: 'UpdateShare',
      success: { 200: answer('The changed share', schemaRef('TenantShare')) },
      errors: [403, 404, 501],
    },
    delete: {
      summary: 'End a share',
      success: {
        204: answer('It is removed; its copies follow within seconds'),
      },
      errors: [403, 404, 501],
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
          'A page; with format=jsonl, or Accept: application/jsonl, all events, one a line',
          schemaRef('TenantAuditPage'),
        ),
      },
      errors: [400, 403, 404],
    },
  },
  '/{slug}/members': {
    get: {
      summary: 'List the members of a tenant, ordered by principal',
      parameters: page,
      success: {
        200: answer('A page of members', listOf('TenantMember'), pageHeaders),
      },
      errors: [400, 403, 404],
    },
  },
  '/{slug}/invitations': {
    get: {
      summary: 'List the invitations of a tenant, the newest first',
      parameters: page,
      success: {
        200: answer(
          'A page of invitations',
          listOf('TenantInvitation'),
          pageHeaders,
        ),
      },
      errors: [400, 403, 404],
    },
    post: {
      summary: 'Invite somebody into a tenant',
      body: 'CreateInvitation',
      success: {
        201: answer(
          'The invitation, with the token that accepts it, which is shown only once',
          schemaRef('CreatedInvitation'),
        ),
      },
      errors: [403, 404, 409, 501],
    },
  },
  '/{slug}/invitations/{id}': {
    delete: {
      summary: 'Remove an invitation',
      success: { 204: answer('It is removed') },
      errors: [403, 404, 501],
    },
  },
  '/{slug}/sign-in': {
    get: {
      summary: 'Get the OpenID provider of a tenant',
      success: {
        200: answer('The provider, or null where there is none', {
          anyOf: [schemaRef('TenantSignIn'), { type: 'null' }],
        }),
      },
      errors: [403, 404],
    },
    put: {
      summary: 'Set or replace the OpenID provider of a tenant',
      body: 'PutTenantSignIn',
      success: { 200: answer('The provider', schemaRef('TenantSignIn')) },
      errors: [403, 404, 409, 501],
    },
    delete: {
      summary: 'Remove the OpenID provider of a tenant',
      success: { 204: answer('It is removed') },
      errors: [403, 404, 501],
    },
  },
  '/{slug}/principals': {
    get: {
      summary:
        'Find users and groups of the identity catalog, ordered by name, with the rights of the caller',
      parameters: openApiQuery(findPrincipalsSchema),
      success: {
        200: answer('Matching users and groups', listOf('CatalogPrincipal'), {
          'X-Total-Count': pageHeaders['X-Total-Count'],
        }),
      },
      errors: [400, 403, 404],
    },
  },
  '/{slug}/members/{principal}': {
    get: {
      summary: 'Get a member of a tenant',
      success: { 200: answer('The member', schemaRef('TenantMember')) },
      errors: [400, 403, 404],
    },
    put: {
      summary: 'Add a member to a tenant, or change the role of one',
      body: 'PutMember',
      success: {
        200: answer('The changed member', schemaRef('TenantMember')),
        201: answer('The new member', schemaRef('TenantMember'), location),
      },
      errors: [403, 404, 409, 501],
    },
    delete: {
      summary: 'Remove a member of a tenant',
      success: { 204: answer('The member is removed') },
      errors: [400, 403, 404, 409, 501],
    },
  },
  '/{slug}/status': {
    get: {
      summary:
        'Get the state of the engine of a tenant, its lag and its errors',
      success: { 200: answer('The status', schemaRef('TenantStatus')) },
      errors: [403, 404],
    },
  },
  '/{slug}/engine': {
    get: {
      summary: 'Get the catalog engine that feeds a tenant',
      success: { 200: answer('The engine', schemaRef('TenantEngine')) },
      errors: [403, 404],
    },
  },
  '/{slug}/engine/pause': {
    put: {
      summary: 'Pause an engine: it ingests nothing and runs no scheduled task',
      success: {
        200: answer('The paused engine', schemaRef('TenantEngine')),
      },
      errors: [403, 404, 501],
    },
    delete: {
      summary: 'Resume an engine',
      success: { 204: answer('It is not paused') },
      errors: [403, 404, 501],
    },
  },
  '/{slug}/catalog-config': {
    get: {
      summary: "Get the configuration of a tenant's engine",
      success: {
        200: answer('The configuration', schemaRef('TenantCatalogConfig'), tag),
      },
      errors: [403, 404],
    },
    put: {
      summary: "Replace the configuration of a tenant's engine",
      parameters: [
        { name: 'If-Match', in: 'header', schema: { type: 'string' } },
      ],
      body: 'CatalogConfig',
      success: {
        200: answer('The configuration', schemaRef('TenantCatalogConfig'), tag),
      },
      errors: [403, 404, 409, 412, 501],
    },
  },
};

function listOf(name: SchemaName) {
  return { type: 'array', items: schemaRef(name) };
}

function format(...names: string[]) {
  return { name: 'format', in: 'query', schema: { enum: names } };
}
