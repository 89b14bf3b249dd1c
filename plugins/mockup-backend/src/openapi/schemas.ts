import { openApiRef } from '@internal/http';
import {
  createMockupRequestSchema,
  duplicateMockupRequestSchema,
  jsonPatchOperationSchema,
  layoutItemInputSchema,
  layoutItemSchema,
  MOCKUP_FILE,
  MOCKUP_LIMITS,
  mockupFileMockupSchema,
  mockupFileVersionSchema,
  mockupSchema,
  mockupWithLatestVersionSchema,
  publishedPageSchema,
  publishedPageWithLayoutSchema,
  publishPageRequestSchema,
  restoreVersionRequestSchema,
  saveVersionRequestSchema,
  shareMockupRequestSchema,
  trashedMockupSchema,
  updateMockupRequestSchema,
  updateVersionRequestSchema,
  versionDifferenceSchema,
  versionSchema,
} from 'backstage-plugin-mockup-common';
import { z } from 'zod';

type JsonSchema = z.core.JSONSchema.BaseSchema;

const errorSchema = z.object({
  error: z.object({ name: z.string(), message: z.string() }),
  request: z.object({ method: z.string(), url: z.string() }).optional(),
  response: z.object({ statusCode: z.int() }),
});

const NAMED_SCHEMAS = {
  CreateMockupRequest: createMockupRequestSchema,
  DuplicateMockupRequest: duplicateMockupRequestSchema,
  UpdateMockupRequest: updateMockupRequestSchema,
  SaveVersionRequest: saveVersionRequestSchema,
  ShareMockupRequest: shareMockupRequestSchema,
  RestoreVersionRequest: restoreVersionRequestSchema,
  UpdateVersionRequest: updateVersionRequestSchema,
  LayoutItemInput: layoutItemInputSchema,
  LayoutItem: layoutItemSchema,
  Mockup: mockupSchema,
  MockupFile: z.strictObject({
    schema: z.literal(MOCKUP_FILE.schema),
    version: z.literal(MOCKUP_FILE.version),
    mockups: z
      .array(
        z.intersection(
          mockupFileMockupSchema,
          z.object({ versions: z.array(mockupFileVersionSchema) }),
        ),
      )
      .max(MOCKUP_LIMITS.importedMockups),
  }),
  MockupWithLatestVersion: mockupWithLatestVersionSchema,
  PublishedPage: publishedPageSchema,
  PublishedPageWithLayout: publishedPageWithLayoutSchema,
  PublishPageRequest: publishPageRequestSchema,
  TrashedMockup: trashedMockupSchema,
  Version: versionSchema,
  VersionDifference: versionDifferenceSchema,
  JsonPatchOperation: jsonPatchOperationSchema,
  Error: errorSchema,
} satisfies Record<string, z.ZodType>;

/** The name of a schema under `components/schemas`. */
export type SchemaName = keyof typeof NAMED_SCHEMAS;

/** A reference to a schema under `components/schemas`. */
export const schemaRef: (name: SchemaName) => object = openApiRef;

/** The schemas of requests and responses, as JSON Schema. */
export function componentSchemas(): Record<string, JsonSchema> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(NAMED_SCHEMAS)) {
    registry.add(schema, { id });
  }
  const { schemas } = z.toJSONSchema(registry, {
    // What callers may send, if the stored form differs.
    io: 'input',
    // `props` are checked by a function and described by hand.
    unrepresentable: 'any',
    uri: id => `#/components/schemas/${id}`,
  });
  return Object.fromEntries(
    Object.entries(schemas).map(([id, schema]) => [id, withoutHead(schema)]),
  );
}

/** The query parameters of an operation, from the schema of its query. */
export function queryParameters(schema: z.ZodType) {
  const { properties = {}, required = [] } = z.toJSONSchema(schema, {
    io: 'input',
  });
  return Object.entries(properties).map(([name, property]) => ({
    name,
    in: 'query',
    ...(required.includes(name) && { required: true }),
    schema: property,
  }));
}

function withoutHead(schema: JsonSchema): JsonSchema {
  const { $schema: _schema, $id: _id, ...rest } = schema;
  return rest;
}
