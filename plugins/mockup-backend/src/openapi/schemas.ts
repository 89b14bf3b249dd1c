import { openApiErrorSchema, openApiRef, openApiSchemas } from '@internal/http';
import {
  createCommentRequestSchema,
  createMockupRequestSchema,
  duplicateMockupRequestSchema,
  jsonPatchOperationSchema,
  layoutItemInputSchema,
  layoutItemSchema,
  MOCKUP_FILE,
  MOCKUP_LIMITS,
  mockupCommentSchema,
  mockupFileMockupSchema,
  mockupFileVersionSchema,
  mockupReviewSchema,
  mockupSchema,
  mockupSettingsSchema,
  mockupWithLatestVersionSchema,
  publishedPageSchema,
  publishedPageWithLayoutSchema,
  publishPageRequestSchema,
  readyVersionSchema,
  restoreVersionRequestSchema,
  saveVersionRequestSchema,
  shareMockupRequestSchema,
  trashedMockupSchema,
  updateCommentRequestSchema,
  updateMockupRequestSchema,
  updateVersionRequestSchema,
  versionDifferenceSchema,
  versionSchema,
} from 'backstage-plugin-mockup-common';
import { z } from 'zod';

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
  CreateCommentRequest: createCommentRequestSchema,
  UpdateCommentRequest: updateCommentRequestSchema,
  MockupComment: mockupCommentSchema,
  MockupReview: mockupReviewSchema,
  MockupSettings: mockupSettingsSchema,
  ReadyVersion: readyVersionSchema,
  TrashedMockup: trashedMockupSchema,
  Version: versionSchema,
  VersionDifference: versionDifferenceSchema,
  JsonPatchOperation: jsonPatchOperationSchema,
  Error: openApiErrorSchema,
} satisfies Record<string, z.ZodType>;

/** The name of a schema under `components/schemas`. */
export type SchemaName = keyof typeof NAMED_SCHEMAS;

/** A reference to a schema under `components/schemas`. */
export const schemaRef: (name: SchemaName) => object = openApiRef;

/** The schemas of requests and responses, as JSON Schema. */
export function componentSchemas(): Record<string, object> {
  return openApiSchemas(NAMED_SCHEMAS);
}
