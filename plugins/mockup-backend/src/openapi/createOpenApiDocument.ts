import {
  createOpenApiDocument as createDocument,
  openApiSchemas,
} from '@internal/http';
import * as common from 'backstage-plugin-mockup-common';
import { z } from 'zod';
import { OPERATIONS } from './operations';

const {
  MOCKUP_FILE,
  MOCKUP_LIMITS,
  mockupFileMockupSchema,
  mockupFileVersionSchema,
} = common;

/** A file, which an import reads in parts. */
const mockupFileSchema = z.strictObject({
  schema: z.literal(MOCKUP_FILE.schema),
  version: z.literal(MOCKUP_FILE.version),
  mockups: z
    .array(
      mockupFileMockupSchema.extend({
        versions: z.array(mockupFileVersionSchema),
      }),
    )
    .max(MOCKUP_LIMITS.importedMockups),
});

/**
 * Describes the HTTP interface of the plugin as an OpenAPI 3.1 document, with the
 * schemas that validate requests.
 */
export function createOpenApiDocument(): object {
  return createDocument({
    title: 'Mockups',
    description: 'UI mockups and their saved layout versions.',
    schemas: openApiSchemas({ ...common, mockupFileSchema }),
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
