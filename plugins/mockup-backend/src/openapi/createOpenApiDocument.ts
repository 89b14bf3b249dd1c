import { OPERATIONS } from './operations';
import { componentSchemas, schemaRef } from './schemas';

const ERRORS = {
  400: 'The request is malformed; the message names the bad value',
  401: 'There are no credentials',
  403: 'The caller may not do this',
  404: 'There is none, or none that the caller may see',
  412: 'It was changed since the state that If-Match names',
  413: 'The body is too large',
  415: 'The body is not application/json',
  503: 'The database cannot be reached',
} as const;

/**
 * Describes the HTTP interface of the plugin as an OpenAPI 3.1 document, with the
 * schemas that validate requests.
 */
export function createOpenApiDocument(): object {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Mockups',
      version: '1',
      description: 'UI mockups and their saved layout versions.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    // Relative to the address of this document.
    servers: [{ url: '.' }],
    security: [{ backstage: [] }],
    components: {
      securitySchemes: {
        backstage: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
      },
      schemas: componentSchemas(),
    },
    paths: Object.fromEntries(
      Object.entries(OPERATIONS).map(([path, methods]) => [
        path,
        {
          ...pathParameters(path),
          ...Object.fromEntries(
            Object.entries(methods).map(([method, operation]) => [
              method,
              describeOperation(operation),
            ]),
          ),
        },
      ]),
    ),
  };
}

function describeOperation(operation: Operation) {
  const { summary, query = [], body, success } = operation;
  return {
    summary,
    parameters: [...query, ...conditionHeaders(operation)],
    ...(body && {
      requestBody: {
        required: true,
        content: { 'application/json': { schema: schemaRef(body) } },
      },
    }),
    responses: {
      [success.status]: success.response,
      ...(operation.revalidates && {
        304: { description: 'Nothing changed since that state' },
      }),
      ...Object.fromEntries(
        errorsOf(operation).map(status => [
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

function conditionHeaders({ conditional, revalidates }: Operation) {
  const names = [
    ...(conditional ? ['If-Match'] : []),
    ...(revalidates ? ['If-None-Match'] : []),
  ];
  return names.map(name => ({
    name,
    in: 'header',
    description: 'The entity tag of a state of the mockup',
    schema: { type: 'string' },
  }));
}

type Operation = (typeof OPERATIONS)[string][string];

function errorsOf({ path, query, body, conditional }: Operation) {
  const writes = body || conditional;
  const statuses: (keyof typeof ERRORS)[] = [401, 503];
  if (writes) {
    statuses.push(403);
  }
  if (query || body || conditional) {
    statuses.push(400);
  }
  if (path) {
    statuses.push(404);
  }
  if (conditional) {
    statuses.push(412);
  }
  if (body) {
    statuses.push(413, 415);
  }
  return statuses;
}

function pathParameters(path: string) {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
  return {
    parameters: names.map(name => ({
      name,
      in: 'path',
      required: true,
      schema: { type: 'string', format: 'uuid' },
    })),
  };
}
