import { OPERATIONS, type Operation } from './operations';
import { SCHEMAS, schemaRef } from './schemas';

const ERRORS = {
  400: 'The request is malformed; the message names the bad value',
  401: 'There are no credentials',
  403: 'The caller may not do this',
  404: 'There is none',
  409: 'It is taken, or something has to stay',
  413: 'The body is too large',
  415: 'The body is not application/json',
  501: 'portal_admin is withheld from the database user',
  503: 'The database cannot be reached',
} as const;

/**
 * Describes the HTTP interface of the plugin as an OpenAPI 3.1 document.
 */
export function createOpenApiDocument(): object {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Tenants',
      version: '1',
      description: 'The registry of tenants, and who may enter them.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    // Relative to the address of this document.
    servers: [{ url: '.' }],
    security: [{ backstage: [] }],
    components: {
      securitySchemes: {
        backstage: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
      },
      schemas: SCHEMAS,
    },
    paths: Object.fromEntries(
      Object.entries(OPERATIONS).map(([path, methods]) => [
        path,
        {
          parameters: pathParameters(path),
          ...Object.fromEntries(
            Object.entries(methods).map(([method, operation]) => [
              method,
              describeOperation(path, method, operation),
            ]),
          ),
        },
      ]),
    ),
  };
}

function describeOperation(path: string, method: string, operation: Operation) {
  const { summary, query = [], body, success } = operation;
  return {
    summary,
    parameters: query,
    ...(body && {
      requestBody: {
        required: true,
        content: { 'application/json': { schema: schemaRef(body) } },
      },
    }),
    responses: {
      ...success,
      ...Object.fromEntries(
        errorsOf(path, method, operation).map(status => [
          status,
          {
            description: ERRORS[status],
            content: { 'application/json': { schema: schemaRef('Error') } },
          },
        ]),
      ),
    },
  };
}

function errorsOf(
  path: string,
  method: string,
  { query, body, conflicts }: Operation,
) {
  const statuses: (keyof typeof ERRORS)[] = [401, 503];
  if (path !== '/mine') {
    statuses.push(403);
  }
  if (query || body || path.includes('{principal}')) {
    statuses.push(400);
  }
  if (path.includes('{slug}')) {
    statuses.push(404);
  }
  if (conflicts) {
    statuses.push(409);
  }
  if (body) {
    statuses.push(413, 415);
  }
  if (method !== 'get') {
    statuses.push(501);
  }
  return statuses;
}

const DESCRIPTIONS: Record<string, string> = {
  slug: 'The slug of a tenant',
  principal:
    'A user as user:<namespace>/<name>, a group as group:<namespace>/<name>, or the subject of an external service; percent-encoded',
};

function pathParameters(path: string) {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    description: DESCRIPTIONS[name],
    schema: { type: 'string' },
  }));
}
