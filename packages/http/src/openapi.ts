/** One operation of a plugin, as its OpenAPI document describes it. */
export interface OpenApiOperation<TSchema extends string = string> {
  summary: string;
  /** Parameters beside those of the path. */
  parameters?: object[];
  /** The name of the schema of the request's body. */
  body?: TSchema;
  /** Whether the body may be left out. */
  bodyIsOptional?: boolean;
  /** The answers without an error, by status: by the name of their schema, or described. */
  success: Record<number, TSchema | `${TSchema}[]` | object>;
  /** The statuses of its errors, beside those that follow from the rest. */
  errors?: number[];
}

/** The operations of a plugin by path and by method in lower case. */
export type OpenApiOperations<TSchema extends string = string> = Record<
  string,
  Record<string, OpenApiOperation<TSchema>>
>;

const ERRORS: Record<number, string> = {
  400: 'The request is malformed; the message names the bad value',
  401: 'There are no credentials',
  403: 'The caller may not do this',
  413: 'The body is too large',
  415: 'The body is not application/json',
  503: 'The database cannot be reached',
};

/** Describes the HTTP interface of a plugin as an OpenAPI 3.1 document. */
export function createOpenApiDocument(options: {
  title: string;
  description: string;
  /** JSON Schemas by name; one of them is `Error`. */
  schemas: Record<string, object>;
  operations: OpenApiOperations;
  /** Describes a parameter of a path by its name. */
  pathParameter(name: string): object;
  /** What statuses of errors mean that other plugins do not have, or mean otherwise. */
  errors: Record<number, string>;
}): object {
  const { title, description, schemas, operations, pathParameter } = options;
  const errors = { ...ERRORS, ...options.errors };
  return {
    openapi: '3.1.0',
    info: {
      title,
      version: '1',
      description,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    // Relative to the address of this document.
    servers: [{ url: '.' }],
    security: [{ backstage: [] }],
    components: {
      securitySchemes: {
        backstage: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
      },
      schemas,
    },
    paths: mapValues(operations, (methods, path) => ({
      parameters: [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
        name,
        in: 'path',
        required: true,
        ...pathParameter(name),
      })),
      ...mapValues(methods, operation => describeOperation(operation, errors)),
    })),
  };
}

/** The answer of an operation: its headers, and the schema of its body if it has one. */
export function openApiAnswer(
  description: string,
  schema: string | object,
  headers: object = {},
): object {
  return { description, headers, content: jsonOf(schemaOf(schema)) };
}

/** A schema by its name; `Name[]` is a list of these. */
function schemaOf(schema: string | object): object {
  if (typeof schema === 'object') {
    return schema;
  }
  return schema.endsWith('[]')
    ? { type: 'array', items: openApiRef(schema.slice(0, -2)) }
    : openApiRef(schema);
}

/** A header of an answer. */
export function openApiHeader(description: string, type = 'string'): object {
  return { description, schema: { type } };
}

/** A schema that refers to one under `components/schemas`. */
export function openApiRef(name: string): object {
  return { $ref: `#/components/schemas/${name}` };
}

const PAGE_HEADERS = {
  'X-Total-Count': openApiHeader('How many entries all pages have', 'integer'),
  Link: openApiHeader('The address of the next page, with rel="next"'),
};

/** A page of a list of entries with this schema. */
export function openApiPage(schema: string | object): object {
  const items = typeof schema === 'string' ? openApiRef(schema) : schema;
  return openApiAnswer('A page', { type: 'array', items }, PAGE_HEADERS);
}

function describeOperation(
  operation: OpenApiOperation,
  errors: Record<number, string>,
) {
  const { summary, parameters = [], body, bodyIsOptional, success } = operation;
  const statuses = [
    ...[401, 503],
    ...(body ? [400, 413, 415] : []),
    ...(operation.errors ?? []),
  ];
  return {
    summary,
    parameters,
    ...(body && {
      requestBody: {
        required: !bodyIsOptional,
        content: jsonOf(openApiRef(body)),
      },
    }),
    responses: {
      ...mapValues(success, describeAnswer),
      ...Object.fromEntries(
        statuses.map(status => [
          status,
          { description: errors[status], content: jsonOf(openApiRef('Error')) },
        ]),
      ),
    },
  };
}

/** An answer without content needs a description all the same. */
function describeAnswer(answer: string | object): object {
  return typeof answer === 'string'
    ? openApiAnswer(answer, answer)
    : { description: 'Done', ...answer };
}

function jsonOf(schema: object) {
  return { 'application/json': { schema } };
}

function mapValues<T, U>(
  values: Record<string, T>,
  map: (value: T, key: string) => U,
): Record<string, U> {
  return Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, map(value, key)]),
  );
}
