import { createOpenApiDocument as createDocument } from '@internal/http';
import { OPERATIONS } from './operations';
import { componentSchemas } from './schemas';

/**
 * Describes the HTTP interface of the plugin as an OpenAPI 3.1 document, with the
 * schemas that validate requests.
 */
export function createOpenApiDocument(): object {
  return createDocument({
    title: 'Mockups',
    description: 'UI mockups and their saved layout versions.',
    schemas: componentSchemas(),
    operations: OPERATIONS,
    pathParameter: name => ({
      schema:
        name === 'path'
          ? { type: 'string' }
          : { type: 'string', format: 'uuid' },
    }),
    errors: {
      409: 'The path has the page of another mockup, or there are too many pages',
      404: 'Not found, or not visible to the caller',
      412: 'The mockup is not in the state that If-Match names',
    },
  });
}
