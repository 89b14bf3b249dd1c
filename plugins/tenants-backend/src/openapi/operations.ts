import { type SchemaName, schemaRef } from './schemas';

const page = [
  parameter('limit', {
    type: 'integer',
    minimum: 1,
    maximum: 500,
    default: 100,
  }),
  parameter('offset', { type: 'integer', minimum: 0, default: 0 }),
];

const pageHeaders = {
  'X-Total-Count': header('How many entries all pages have', 'integer'),
  Link: header('The address of the next page, with rel="next"'),
};
const location = { Location: header('The path of what was created') };

/** An operation, as the document describes it. */
export interface Operation {
  summary: string;
  query?: object[];
  body?: SchemaName;
  /** Whether it answers 409. */
  conflicts?: boolean;
  /** The answers to what succeeds, by status. */
  success: Record<number, object>;
}

/** All operations of the plugin, by path and method. */
export const OPERATIONS: Record<string, Record<string, Operation>> = {
  '/': {
    get: {
      summary: 'List tenants, ordered by slug',
      query: [
        parameter('deleted', { type: 'boolean', default: false }),
        ...page,
      ],
      success: {
        200: answer('A page of tenants', listOf('Tenant'), pageHeaders),
      },
    },
    post: {
      summary: 'Create a tenant',
      body: 'CreateTenant',
      conflicts: true,
      success: { 201: answer('The new tenant', schemaRef('Tenant'), location) },
    },
  },
  '/mine': {
    get: {
      summary: 'List the tenants that the caller may enter, ordered by slug',
      query: page,
      success: {
        200: answer('A page of them', listOf('Membership'), pageHeaders),
      },
    },
  },
  '/{slug}': {
    get: {
      summary: 'Get a tenant, also a deleted one',
      success: { 200: answer('The tenant', schemaRef('Tenant')) },
    },
    patch: {
      summary: 'Change the name or the limits of a tenant',
      body: 'UpdateTenant',
      success: { 200: answer('The changed tenant', schemaRef('Tenant')) },
    },
    delete: {
      summary: 'Delete a tenant, which keeps its rows and can be restored',
      conflicts: true,
      success: { 204: answer('It no longer resolves') },
    },
  },
  '/{slug}/restore': {
    post: {
      summary: 'Make a deleted tenant active again',
      success: { 200: answer('The tenant', schemaRef('Tenant')) },
    },
  },
  '/{slug}/usage': {
    get: {
      summary: 'Count what a tenant holds',
      success: { 200: answer('The counts', schemaRef('TenantUsage')) },
    },
  },
  '/{slug}/members': {
    get: {
      summary: 'List the members of a tenant, ordered by principal',
      query: page,
      success: {
        200: answer('A page of members', listOf('TenantMember'), pageHeaders),
      },
    },
  },
  '/{slug}/members/{principal}': {
    get: {
      summary: 'Get a member of a tenant',
      success: { 200: answer('The member', schemaRef('TenantMember')) },
    },
    put: {
      summary: 'Add a member to a tenant, or change the role of one',
      body: 'PutMember',
      conflicts: true,
      success: {
        200: answer('The member, from before', schemaRef('TenantMember')),
        201: answer('The new member', schemaRef('TenantMember'), location),
      },
    },
    delete: {
      summary: 'Remove a member of a tenant',
      conflicts: true,
      success: { 204: answer('It is out') },
    },
  },
};

function answer(description: string, schema?: object, headers: object = {}) {
  return {
    description,
    headers,
    ...(schema && { content: { 'application/json': { schema } } }),
  };
}

function listOf(name: SchemaName) {
  return { type: 'array', items: schemaRef(name) };
}

function parameter(name: string, schema: object) {
  return { name, in: 'query', schema };
}

function header(description: string, type = 'string') {
  return { description, schema: { type } };
}
