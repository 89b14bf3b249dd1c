import {
  describedRoutes,
  fitsPatterns,
  servedRoutes,
} from '@internal/catalog-testing/describedFetch';
import { Validator } from '@seriousme/openapi-schema-validator';
import express from 'express';
import { createRouter } from '../http/createRouter';
import type { Operations } from '../http/operations';
import { createOpenApiDocument } from './createOpenApiDocument';

type Document = {
  components: { schemas: Record<string, any> };
};

const document = createOpenApiDocument() as Document;

describe('the OpenAPI document', () => {
  it('is valid OpenAPI 3.1', async () => {
    const validator = new Validator();
    const result = await validator.validate(structuredClone(document));
    expect(result.errors).toBeUndefined();
    expect(result.valid).toBe(true);
    expect(validator.version).toBe('3.1');
  });

  it('describes every route of the plugin, and no other', () => {
    const handler: express.RequestHandler = () => {};
    const operations: Operations = {
      read: () => [handler],
      write: () => [handler],
      writeIfMatch: () => [handler],
    };
    const served = servedRoutes(
      createRouter(operations, {
        importBounds: { maxBytes: 1, maxVersions: 1 },
      }),
    );
    expect([...new Set(served)].sort()).toEqual(
      describedRoutes(document).sort(),
    );
    expect(served).not.toHaveLength(0);
  });

  it.each([
    ['CreateMockupRequest', 'name', 'x', ' '],
    ['CreateMockupRequest', 'name', 'x', 'x\0'],
    ['CreateMockupRequest', 'description', '', '\0'],
    ['CreateCommentRequest', 'text', 'x', '\n'],
    ['PublishPageRequest', 'audience', 'role:admin', 'role:owner'],
    ['PublishPageRequest', 'audience', 'group:default/a', 'group:a'],
  ])(
    'says of %s what its %s may be: %j, and not %j',
    (schema, field, fit, unfit) => {
      const described = document.components.schemas[schema].properties[field];
      expect(fitsPatterns(described, fit)).toBe(true);
      expect(fitsPatterns(described, unfit)).toBe(false);
    },
  );
});
