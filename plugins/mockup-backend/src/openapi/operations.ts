import {
  listMockupsQuerySchema,
  paginationSchema,
} from 'backstage-plugin-mockup-common';
import { queryParameters, type SchemaName, schemaRef } from './schemas';

interface OperationDescription {
  summary: string;
  /** Whether it answers 404 if the mockup or version of its path is missing. */
  path?: boolean;
  query?: ReturnType<typeof queryParameters>;
  body?: SchemaName;
  /** Whether it takes `If-Match`. */
  conditional?: boolean;
  /** Whether it takes `If-None-Match`. */
  revalidates?: boolean;
  success: ReturnType<typeof answer>;
}

const pageHeaders = {
  'X-Total-Count': header('How many entries all pages have', 'integer'),
  Link: header('The address of the next page, with rel="next"'),
};
const etag = { ETag: header('Names the state that the mockup is in') };
const created = {
  ...etag,
  Location: header('The path of what was created'),
};

/** All operations of the plugin, by path and method. */
export const OPERATIONS: Record<
  string,
  Record<string, OperationDescription>
> = {
  '/mockups': {
    get: {
      summary: 'List mockups, the most recently changed first',
      query: queryParameters(listMockupsQuerySchema),
      success: answer(200, 'A page of mockups', pageHeaders, listOf('Mockup')),
    },
    post: {
      summary: 'Create a mockup, which the caller then owns',
      body: 'CreateMockupRequest',
      success: answer(201, 'The new mockup', created, schemaRef('Mockup')),
    },
  },
  '/mockups/{id}': {
    get: {
      summary: 'Get a mockup with its newest version',
      path: true,
      revalidates: true,
      success: answer(
        200,
        'The mockup',
        etag,
        schemaRef('MockupWithLatestVersion'),
      ),
    },
    patch: {
      summary: 'Change the name or description of a mockup',
      path: true,
      conditional: true,
      body: 'UpdateMockupRequest',
      success: answer(200, 'The changed mockup', etag, schemaRef('Mockup')),
    },
    delete: {
      summary: 'Delete a mockup and its versions',
      path: true,
      conditional: true,
      success: answer(204, 'It is gone'),
    },
  },
  '/mockups/{id}/versions': {
    get: {
      summary: 'List the versions of a mockup, the newest first',
      path: true,
      query: queryParameters(paginationSchema),
      success: answer(
        200,
        'A page of versions',
        pageHeaders,
        listOf('Version'),
      ),
    },
    post: {
      summary: 'Save a layout as the next version of a mockup',
      path: true,
      conditional: true,
      body: 'SaveVersionRequest',
      success: answer(201, 'The new version', created, schemaRef('Version')),
    },
  },
  '/mockups/{id}/versions/{vid}': {
    get: {
      summary: 'Get one version of a mockup',
      path: true,
      success: answer(200, 'The version', {}, schemaRef('Version')),
    },
  },
};

function answer(
  status: number,
  description: string,
  headers: object = {},
  schema?: object,
) {
  return {
    status,
    response: {
      description,
      headers,
      ...(schema && { content: { 'application/json': { schema } } }),
    },
  };
}

function listOf(name: SchemaName) {
  return { type: 'array', items: schemaRef(name) };
}

function header(description: string, type = 'string') {
  return { description, schema: { type } };
}
