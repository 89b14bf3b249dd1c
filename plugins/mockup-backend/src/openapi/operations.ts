import {
  openApiAnswer as answer,
  openApiHeader,
  openApiIdempotencyKey,
  type OpenApiOperations,
  openApiPage,
  openApiQuery,
  openApiRef,
  type SchemaNameOf,
} from '@internal/http';
import type * as common from 'backstage-plugin-mockup-common';
import {
  compareVersionsQuerySchema,
  listMockupsQuerySchema,
  listTrashQuerySchema,
  paginationSchema,
} from 'backstage-plugin-mockup-common';

type SchemaName = SchemaNameOf<typeof common> | 'MockupFile';

const ETag = openApiHeader('Identifies the state of the mockup');
const Location = openApiHeader('The path of what was created');

const tagged = (schema: SchemaName) => answer(schema, schema, { ETag });
const created = (schema: SchemaName) =>
  answer(schema, schema, { ETag, Location });
const file = answer('The file', 'MockupFile', {
  'Content-Disposition': openApiHeader('The name of the file'),
});

/** All operations of the plugin, by path and method. */
export const OPERATIONS: OpenApiOperations<SchemaName> = {
  '/mockups': {
    get: {
      summary: 'List mockups, the most recently changed first',
      parameters: openApiQuery(listMockupsQuerySchema),
      success: { 200: openApiPage('Mockup') },
      errors: [400],
    },
    post: {
      summary: 'Create a mockup, which the caller then owns',
      parameters: [openApiIdempotencyKey],
      body: 'CreateMockupRequest',
      success: { 201: created('Mockup') },
      errors: [403],
    },
  },
  '/mockups/{id}': {
    get: {
      summary: 'Get a mockup with its newest version',
      parameters: [condition('If-None-Match')],
      success: {
        200: tagged('MockupWithLatestVersion'),
        304: { description: 'Nothing changed since that state' },
      },
      errors: [404],
    },
    patch: {
      summary: 'Change the name or description of a mockup',
      parameters: [condition('If-Match')],
      body: 'UpdateMockupRequest',
      success: { 200: tagged('Mockup') },
      errors: [403, 404, 412],
    },
    delete: {
      summary: 'Move a mockup and its versions to the trash',
      parameters: [condition('If-Match')],
      success: { 204: {} },
      errors: [400, 403, 404, 412],
    },
  },
  '/mockups/{id}/shares': {
    put: {
      summary:
        'Share a mockup with these groups, instead of those it was shared with',
      parameters: [condition('If-Match')],
      body: 'ShareMockupRequest',
      success: { 200: tagged('Mockup') },
      errors: [403, 404, 412],
    },
  },
  '/trash': {
    get: {
      summary: 'List deleted mockups, the most recently deleted first',
      parameters: openApiQuery(listTrashQuerySchema),
      success: { 200: openApiPage('TrashedMockup') },
      errors: [400],
    },
  },
  '/trash/{id}': {
    delete: {
      summary: 'Delete a mockup in the trash for good',
      success: { 204: {} },
      errors: [403, 404],
    },
  },
  '/trash/{id}/restore': {
    post: {
      summary: 'Take a mockup out of the trash, with its versions',
      success: { 200: tagged('Mockup') },
      errors: [403, 404],
    },
  },
  '/mockups/{id}/duplicate': {
    post: {
      summary: 'Copy a mockup, with its history or with its newest layout',
      parameters: [openApiIdempotencyKey],
      body: 'DuplicateMockupRequest',
      bodyIsOptional: true,
      success: { 201: created('MockupWithLatestVersion') },
      errors: [403, 404],
    },
  },
  '/mockups/{id}/versions': {
    get: {
      summary: 'List the versions of a mockup, the newest first',
      parameters: openApiQuery(paginationSchema),
      success: { 200: openApiPage('Version') },
      errors: [400, 404],
    },
    post: {
      summary: 'Save a layout as the next version of a mockup',
      parameters: [condition('If-Match')],
      body: 'SaveVersionRequest',
      success: { 201: created('Version') },
      errors: [403, 404, 412],
    },
  },
  '/mockups/{id}/versions/{vid}': {
    get: {
      summary: 'Get one version of a mockup',
      success: { 200: 'Version' },
      errors: [404],
    },
    patch: {
      summary: 'Change or remove the tag of a version',
      parameters: [condition('If-Match')],
      body: 'UpdateVersionRequest',
      success: { 200: tagged('Version') },
      errors: [403, 404, 412],
    },
  },
  '/mockups/{id}/versions/{vid}/restore': {
    post: {
      summary: 'Save the layout of a version as the next version of its mockup',
      parameters: [condition('If-Match')],
      success: { 201: created('Version') },
      errors: [403, 404, 412],
    },
  },
  '/mockups/{id}/versions/{vid}/diff': {
    get: {
      summary: 'Compare a version of a mockup with another one of it',
      parameters: openApiQuery(compareVersionsQuerySchema),
      success: {
        200: answer(
          'The differences of the items, and a JSON Patch (RFC 6902) of the layout',
          'VersionDifference',
        ),
      },
      errors: [400, 404],
    },
  },
  '/pages': {
    get: {
      summary: 'List the pages visible to the caller, by path',
      success: { 200: 'PublishedPage[]' },
    },
  },
  '/pages/{path}': {
    get: {
      summary: 'Get a page with the layout of its published version',
      success: { 200: 'PublishedPageWithLayout' },
      errors: [400, 404],
    },
    put: {
      summary:
        'Show a version of a mockup at a path that is free or has a page of the same mockup',
      body: 'PublishPageRequest',
      success: { 200: 'PublishedPage' },
      errors: [403, 404, 409],
    },
    delete: {
      summary: 'Unpublish a page',
      success: { 204: {} },
      errors: [400, 403, 404],
    },
  },
  '/home': {
    get: {
      summary:
        'Get the home page of the caller, by group, role or for everybody',
      success: {
        200: 'PublishedPageWithLayout',
        204: {},
      },
    },
  },
  '/mockups/{id}/pages': {
    get: {
      summary: 'List the pages of a mockup that the caller may read, by path',
      success: { 200: 'PublishedPage[]' },
      errors: [404],
    },
  },
  '/mockups/{id}/comments': {
    get: {
      summary: 'List the comments of a mockup, the oldest first',
      success: { 200: 'MockupComment[]' },
      errors: [404],
    },
    post: {
      summary:
        'Comment on a mockup that the caller may read, and notify mentioned users',
      parameters: [openApiIdempotencyKey],
      body: 'CreateCommentRequest',
      success: { 201: 'MockupComment' },
      errors: [403, 404, 409],
    },
  },
  '/mockups/{id}/comments/{cid}': {
    patch: {
      summary: 'Resolve a comment, or open it again',
      body: 'UpdateCommentRequest',
      success: { 200: 'MockupComment' },
      errors: [403, 404],
    },
    delete: {
      summary:
        'Delete an own comment, or one on a mockup that the caller may delete',
      success: { 204: {} },
      errors: [403, 404],
    },
  },
  '/mockups/{id}/review': {
    get: {
      summary:
        'Get the versions of a mockup that are ready, and whether review is required',
      success: { 200: 'MockupReview' },
      errors: [404],
    },
  },
  '/mockups/{id}/versions/{vid}/ready': {
    put: {
      summary: 'Mark a version that somebody else has saved as ready',
      success: { 200: 'ReadyVersion' },
      errors: [403, 404],
    },
    delete: {
      summary: 'Mark a version as not ready',
      success: { 204: {} },
      errors: [403, 404],
    },
  },
  '/mockups/{id}/editors': {
    post: {
      summary: 'Announce for 45 seconds that the caller edits the mockup',
      success: {
        200: answer('The other users who edit it', {
          type: 'array',
          items: { type: 'string' },
        }),
      },
      errors: [403, 404],
    },
  },
  '/settings': {
    get: {
      summary: 'Get the settings of mockups of the tenant',
      success: { 200: 'MockupSettings' },
    },
    put: {
      summary: 'Set whether a version must be ready before publication',
      body: 'MockupSettings',
      success: { 200: 'MockupSettings' },
      errors: [403],
    },
  },
  '/mockups/{id}/export': {
    get: {
      summary: 'Export a mockup with all of its versions as a file',
      success: { 200: file },
      errors: [404],
    },
  },
  '/export': {
    get: {
      summary: 'Export all mockups that the caller may read as a file',
      success: { 200: file },
    },
  },
  '/import': {
    post: {
      summary:
        'Create mockups from an exported file, all or none, which the caller then owns',
      parameters: [openApiIdempotencyKey],
      body: 'MockupFile',
      success: {
        201: answer('The new mockups', {
          type: 'object',
          required: ['mockups'],
          properties: {
            mockups: { type: 'array', items: openApiRef('Mockup') },
          },
        }),
      },
      errors: [403],
    },
  },
};

function condition(name: 'If-Match' | 'If-None-Match') {
  return {
    name,
    in: 'header',
    description: 'The entity tag of a state of the mockup',
    schema: { type: 'string' },
  };
}
