import { Validator } from '@seriousme/openapi-schema-validator';
import express from 'express';
import { createRouter } from '../http/createRouter';
import type { Operations } from '../http/operations';
import { createOpenApiDocument } from './createOpenApiDocument';

type Document = {
  paths: Record<string, Record<string, unknown>>;
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
    };
    const served = createRouter(operations, {
      importBounds: { maxBytes: 1, maxVersions: 1 },
    })
      .stack.flatMap(({ route }) =>
        route
          ? route.stack.map(
              ({ method }) =>
                `${method} ${route.path.replace(/:(\w+)/g, '{$1}')}`,
            )
          : [],
      )
      .filter(route => route !== 'get /openapi.json');
    const described = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.keys(item)
        .filter(key => key !== 'parameters')
        .map(method => `${method} ${path}`),
    );
    expect([...new Set(served)].sort()).toEqual(described.sort());
    expect(served).not.toHaveLength(0);
  });

  it('carries the bounds of the specification', () => {
    const { schemas } = document.components;
    expect(schemas.CreateMockupRequest).toMatchObject({
      required: ['name'],
      additionalProperties: false,
      properties: {
        name: { type: 'string', minLength: 1, maxLength: 255 },
        description: { type: 'string', maxLength: 1000 },
      },
    });
    expect(schemas.SaveVersionRequest).toMatchObject({
      required: ['layoutData'],
      properties: {
        versionTag: { type: 'string', maxLength: 50 },
        layoutData: {
          type: 'array',
          maxItems: 1000,
          items: { $ref: '#/components/schemas/LayoutItemInput' },
        },
      },
    });
    expect(schemas.LayoutItem).toMatchObject({
      required: ['i', 'x', 'y', 'w', 'h', 'component', 'props'],
      properties: {
        x: { type: 'integer', minimum: 0 },
        w: { type: 'integer', minimum: 1 },
        props: { type: 'object' },
      },
    });
    expect(schemas.MockupWithLatestVersion.properties.latestVersion).toEqual({
      anyOf: [{ $ref: '#/components/schemas/Version' }, { type: 'null' }],
    });
  });
});
